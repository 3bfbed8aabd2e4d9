// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationTestSupport
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("A relay over TLS", .timeLimit(.minutes(10)))
struct RelayTLSTests {
    @Test("connects two ends, with HTTP/1.1 by ALPN")
    func tunnel() async throws {
        let files = try await CertificateFiles()
        let client = try files.clientContext { $0.applicationProtocols = ["http/1.1"] }
        try await RunningRelay.run(transport: files.relayTransport(), clientTLS: client) { relay in
            let (phone, client) = try await relay.pair()
            let message = [UInt8](repeating: 0x5A, count: 300_000)
            try await phone.send(Wire.frame(message))
            #expect(try await client.readMessage() == message)
            try await client.send(Wire.frame([1]) + Wire.closeFrame(4000))
            #expect(try await phone.readFrame().payload == [1])
            #expect(try await phone.readClose() == 4000)
            #expect(try await client.readClose() == 4000)
            let (second, other) = try await relay.pair()
            try await second.hangUp()
            #expect(try await other.readClose() == 1001)
        }
    }

    @Test("connects clients that offer other protocols, without ALPN")
    func otherProtocol() async throws {
        let files = try await CertificateFiles()
        let client = try files.clientContext { $0.applicationProtocols = ["h2", "http/1.0"] }
        try await RunningRelay.run(transport: files.relayTransport(), clientTLS: client) { relay in
            let (phone, client) = try await relay.pair()
            try await phone.send(Wire.frame([1]))
            #expect(try await client.readMessage() == [1])
        }
    }

    @Test("uses a renewed certificate for new connections, and keeps existing tunnels")
    func renewed() async throws {
        let files = try await CertificateFiles()
        func pair(_ name: String) throws -> (server: SocketSecurity, client: NIOSSLContext) {
            (try files.relayTransport(name), try files.clientContext(name))
        }
        let (old, new) = (try pair("own"), try pair("other"))
        try await RunningRelay.run(transport: old.server, clientTLS: old.client) { relay in
            let (phone, client) = try await relay.pair()
            relay.server.replace(transport: new.server)
            let late = RunningRelay(server: relay.server, address: relay.address, tls: new.client)
            let tunnel = String(repeating: "e", count: 32)
            let (second, other) = try await late.pair(tunnel: tunnel)
            for (from, to) in [(phone, client), (other, second)] {
                try await from.send(Wire.frame([1]))
                #expect(try await to.readMessage() == [1])
            }
            await #expect(throws: (any Error).self) { try await relay.pair(tunnel: tunnel) }
        }
    }

    @Test(
        "accepts only TLS 1.2 suites with forward secrecy and authenticated encryption",
        arguments: [
            ("ECDHE-ECDSA-AES128-GCM-SHA256", true), ("ECDHE-ECDSA-AES256-GCM-SHA384", true),
            ("ECDHE-ECDSA-CHACHA20-POLY1305", true), ("ECDHE-ECDSA-AES128-SHA", false),
            ("ECDHE-ECDSA-AES256-SHA", false), ("AES128-GCM-SHA256", false),
        ]
    )
    func oldSuites(suite: String, isAccepted: Bool) async throws {
        let files = try await CertificateFiles()
        let client = try files.clientContext {
            $0.maximumTLSVersion = .tlsv12
            $0.cipherSuites = suite
        }
        try await RunningRelay.run(transport: files.relayTransport(), clientTLS: client) { relay in
            if isAccepted {
                _ = try await relay.pair()
            } else {
                await #expect(throws: (any Error).self) { try await relay.pair() }
            }
        }
    }

    @Test("closes a connection that stalls in the handshake")
    func stalledHandshake() async throws {
        let files = try await CertificateFiles()
        let limits = RelayLimits.testing { $0.headTime = .milliseconds(300) }
        try await RunningRelay.run(transport: files.relayTransport(), limits: limits) { relay in
            let client = try await relay.connection()
            try? await client.send([0x16, 0x03])
            #expect(await client.readToEnd() == [])
        }
    }

    @Test("reports which file is invalid and why")
    func wrongFiles() async throws {
        let files = try await CertificateFiles()
        let (own, other) = ("\(files.directory)/own", "\(files.directory)/other")
        func error(_ certificate: String, _ key: String) -> RelayCertificate.LoadError? {
            do throws(RelayCertificate.LoadError) {
                _ = try RelayCertificate.context(certificateFile: certificate, keyFile: key)
                return nil
            } catch {
                return error
            }
        }
        let (cert, key) = (own + ".pem", own + ".key")
        #expect(error(cert, key) == nil)
        #expect(error("/nonexistent", key) == .unreadable(path: "/nonexistent"))
        #expect(error(cert, "/nonexistent") == .unreadable(path: "/nonexistent"))
        #expect(error(key, key)?.sentence.hasPrefix("\(key) can't be read as certificates (PEM): it is a pr") == true)
        #expect(error(cert, cert)?.sentence.hasPrefix("\(cert) can't be read as a private key (PEM): it has") == true)
        #expect(error(cert, other + ".key") == .mismatch(certificate: cert, key: other + ".key"))
        let (unusual, unusualKey) = try await files.create("unusual", key: ["-newkey", "ed448"])
        let refusal = error(unusual, unusualKey)?.sentence ?? ""
        #expect(refusal.hasPrefix("the first certificate in \(unusual) can't be used for TLS ("), "\(refusal)")
    }

    @Test("reports the earliest expiry of a chain")
    func expiry() async throws {
        let files = try await CertificateFiles()
        let (long, _) = try await files.create("long", days: 300)
        let chain = files.directory + "/chain.pem"
        try TestFile.write(TestFile.text(long) + TestFile.text(files.directory + "/own.pem"), to: chain)
        let expected = Int(Date.now.timeIntervalSince1970) + 2 * 86_400
        for file in [chain, files.directory + "/own.pem"] {
            let expiry = try #require(RelayCertificate.chain(certificateFile: file)?.expiry)
            #expect(abs(expiry - expected) < 3_600)
        }
        #expect(RelayCertificate.chain(certificateFile: files.directory + "/own.key") == nil)
        #expect(RelayCertificate.chain(certificateFile: "/nonexistent") == nil)
    }

    @Test("names what clients may refuse in a chain that replaces another one")
    func problems() async throws {
        let files = try await CertificateFiles()
        let folder = files.directory
        func text(_ name: String) -> String { TestFile.text("\(folder)/\(name).pem") }
        func chain(_ text: String) throws -> CertificateChain {
            try TestFile.write(text, to: folder + "/read.pem")
            return try #require(RelayCertificate.chain(certificateFile: folder + "/read.pem"))
        }
        try await files.issue("leaf", by: "own")
        let others = try await CertificateFiles()
        // Later than the start of all certificates.
        let now = Int(Date.now.timeIntervalSince1970)
        let complete = try chain(text("leaf") + text("own"))
        let leaf = try chain(text("leaf"))
        #expect(complete.problem(replacing: nil, now: now) == nil)
        #expect(leaf.problem(replacing: nil, now: now) == nil, "a private authority may have issued it")
        #expect(leaf.problem(replacing: complete, now: now) == "the issuers' certificates are missing")
        #expect(try chain(text("own")).problem(replacing: complete, now: now) == nil, "its own issuer")
        // The second authority has the same name and another key.
        for issuer in [text("other"), TestFile.text(others.directory + "/own.pem")] {
            #expect(issuer.contains("BEGIN CERTIFICATE"))
            let foreign = try chain(text("leaf") + issuer)
            #expect(foreign.problem(replacing: nil, now: now)?.contains("issuer is not the next one") == true)
        }
        #expect(complete.problem(replacing: leaf, now: now + 3 * 86_400) == "a certificate has expired")
        #expect(complete.problem(replacing: leaf, now: now - 3 * 86_400) == "a certificate is not valid yet")
    }

    @Test("reads certificates and keys with byte order marks", arguments: [0, 1, 2])
    func byteOrderMarks(place: Int) async throws {
        let files = try await CertificateFiles()
        let folder = files.directory
        try await files.issue("leaf", by: "own")
        func read(_ name: String) -> [UInt8] { Array(TestFile.text("\(folder)/\(name)").utf8) }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let parts = [read("leaf.pem"), read("own.pem"), read("leaf.key")]
        let marked = parts.enumerated().map { $0 == place ? mark + $1 : $1 }
        #expect(throws: Never.self) {
            try RelayCertificate.context(certificate: marked[0] + marked[1], key: marked[2])
        }
        #expect(CertificateChain(parsing: marked[0] + marked[1])?.count == 2)
    }
}
