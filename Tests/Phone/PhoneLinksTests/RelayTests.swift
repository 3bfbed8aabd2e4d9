// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDataChannel
import HybridNetwork
import HybridPrimitives
import HybridRelayCore
import HybridSession
import HybridThreads
import IntegrationTestSupport
import NIOCore
import TestSupport
import Testing

@testable import HybridPhoneLinks

/// The listener of a phone, with a real relay and a client of its link.
@Suite("A linked phone at a relay", .timeLimit(.minutes(5)))
struct RelayTests {
    /// Runs a relay with the name of the tests' tunnel domain.
    static func relay(
        in folder: TestFolder,
        push: PushGateway? = nil,
        wakeUpBurst: Int? = nil,
        _ body: (RelayEndpoint) async throws -> Void
    ) async throws {
        let domain = try #require(TunnelDomain(id: 266))
        let (certificate, key) = (folder.path + "/certificate.pem", folder.path + "/key.pem")
        let openssl = try SpawnedProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=test", "-addext", "subjectAltName=DNS:\(domain.host)", "-keyout", key, "-out", certificate,
        ])
        try #require(try await openssl.end() == 0)
        let tls = try RelayCertificate.context(certificateFile: certificate, keyFile: key)
        let configure: (inout RelayConfiguration) -> Void = {
            $0.contactHost = domain.host
            $0.push = push
            if let wakeUpBurst { $0.limits.wakeUpBurst = wakeUpBurst }
        }
        try await TestRelay.run(transport: .tls(tls), configure: configure) { _, address in
            let port = try #require(address.port)
            let override = try #require(ConnectTo("\(domain.host):443:127.0.0.1:\(port)") as ConnectTo?)
            let network = NetworkConfiguration(connectTo: [override], trustedCertificates: certificate)
            try await body(RelayEndpoint(domain: domain, network: network))
        }
    }

    /// Runs `body` while a phone listens.
    private static func listening(
        _ answer: WakeUpAnswer?,
        wakeUpBurst: Int? = nil,
        _ body: (TestPhone, RelayEndpoint, Locked<[String]>) async throws -> Void
    ) async throws {
        try await listening(answer, wakeUpBurst: wakeUpBurst) { phone, endpoint, lines, _ in
            try await body(phone, endpoint, lines)
        }
    }

    /// Runs `body` while a phone listens, which can also resume.
    private static func listening(
        _ answer: WakeUpAnswer?,
        wakeUpBurst: Int? = nil,
        _ body: (TestPhone, RelayEndpoint, Locked<[String]>, LinkListeners) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            try await relay(in: folder, wakeUpBurst: wakeUpBurst) { endpoint in
                let phone = try TestPhone(in: folder, answer: answer)
                let lines = Locked<[String]>([])
                let listener = LinkListeners(
                    store: phone.store,
                    handler: phone.handler,
                    destination: { _ in LinkListeners.Destination(relay: endpoint, bearerToken: nil) },
                    report: { event in
                        lines.withLock { lines in
                            switch event {
                            case .listening(let label, _): lines.append("listening \(label)")
                            case .disconnected(_, let failure): lines.append("disconnected \(failure.code)")
                            case .cut(let label, _, _): lines.append("cut \(label)")
                            case .revoked(let label): lines.append("revoked \(label)")
                            case .unusable(let sentence): lines.append(sentence)
                            }
                        }
                    }
                )
                let running = Task { try await listener.run() }
                try await Waiting.until("a connection", evidence: "\(lines.withLock { $0 })") {
                    lines.withLock { $0.contains("listening laptop") }
                }
                try await body(phone, endpoint, lines, listener)
                running.cancel()
                _ = try? await running.value
            }
        }
    }

    /// Contacts the phone as a client does, and returns the error.
    private static func contact(
        _ phone: TestPhone,
        _ claims: ContactClaims? = Sample.claims(),
        at endpoint: RelayEndpoint,
        opened: @Sendable () -> Void = {}
    ) async -> TunnelError? {
        do {
            try await WebSocketTunnel.withContact(
                phone.link.contactKey.publicKey.contactID,
                payload: Sample.payload(phone.link, claims),
                at: endpoint
            ) { tunnel, _ in
                opened()
                try await tunnel.waitForPhone()
                _ = try await tunnel.receive { $0.bytes }
            }
            return nil
        } catch {
            return error as? TunnelError
        }
    }

    @Test("A client wakes the phone, and a declined request ends the client's tunnel at once")
    func declined() async throws {
        try await Self.listening(.declined) { phone, endpoint, _ in
            #expect(await Self.contact(phone, at: endpoint) == .phoneDeclined)
            #expect(phone.asked == 1 && phone.served == 0)
        }
    }

    @Test("Until the user taps, the phone does not join the tunnel")
    func untilTap() async throws {
        try await Self.listening(nil) { phone, endpoint, _ in
            let client = Task { await Self.contact(phone, at: endpoint) }
            try await Waiting.until("the question") { phone.asked == 1 }
            #expect(phone.served == 0)
            phone.answer.change { $0 = .approved }
            try await Waiting.until("the session") { phone.served == 1 }
            client.cancel()
            _ = await client.value
        }
    }

    @Test("A relay that sends wake-ups without a proof is not heard after ten")
    func flood() async throws {
        try await Self.listening(.declined, wakeUpBurst: 100) { phone, endpoint, lines in
            // Fewer do not end it.
            let early = Task { await Self.contact(phone, nil, at: endpoint) }
            try await Waiting.until("the first one") { phone.events.withLock { !$0.isEmpty } }
            #expect(await Self.contact(phone, at: endpoint) == .phoneDeclined)
            early.cancel()
            _ = await early.value
            #expect(!lines.withLock { $0.contains { $0.hasPrefix("disconnected") } })
            let clients = (1..<WakeUpBudget.maximumIgnored).map { _ in
                Task { await Self.contact(phone, nil, at: endpoint) }
            }
            try await Waiting.until("the end of the connection", evidence: "\(lines.withLock { $0 })") {
                lines.withLock { $0.contains("disconnected wake-up-flood") }
            }
            for client in clients { client.cancel() }
            for client in clients { _ = await client.value }
            #expect(phone.asked == 1)
        }
    }

    @Test("A new connection does not renew the number of wake-ups without a proof")
    func floodOfManyConnections() async throws {
        try await Self.listening(.declined, wakeUpBurst: 1000) { phone, endpoint, lines, listener in
            func isOver() -> Bool { lines.withLock { $0.contains("disconnected wake-up-flood") } }
            for _ in 0..<200 where !isOver() {
                let opened = Locked<Bool?>(nil)
                let client = Task {
                    _ = await Self.contact(phone, nil, at: endpoint) { opened.withLock { $0 = true } }
                    opened.withLock { $0 = $0 ?? false }
                }
                try await Waiting.until("the relay's answer") { opened.withLock { $0 } != nil }
                client.cancel()
                await client.value
                // A relay that ends the connection has the same effect, but the next one would be seconds later.
                if opened.withLock({ $0 }) == true { listener.resumed() }
            }
            #expect(isOver())
            #expect(phone.asked == 0)
        }
    }

    @Test("A link that is added later is served, and a forgotten one is revoked at the relay")
    func changes() async throws {
        try await Self.listening(.declined) { phone, endpoint, lines in
            try phone.store.add(try Sample.record(label: "desk"))
            try await Waiting.until("the second connection") { lines.withLock { $0.contains("listening desk") } }
            try phone.store.forget(phone.link.id, at: 2000)
            try await Waiting.until("the revocation", evidence: "\(lines.withLock { $0 })") {
                lines.withLock { $0.contains("revoked laptop") }
            }
            #expect(try phone.store.record(phone.link.id)?.revocation?.isConfirmed == true)
            let error = await Self.contact(phone, at: endpoint)
            let proof = try #require(error?.revocation)
            #expect(proof.proves(phone.link.contactKey.publicKey.contactID, host: phone.link.domain.host))
            #expect(phone.asked == 0)
        }
    }
}
