// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import Testing

@testable import HybridRelayCore

@Suite("The end of a relay's connection")
struct ClosingTests {
    private static let small: CInt = 8 << 10

    private let message = Wire.frame([UInt8](repeating: 1, count: 20_000))

    /// The reasons for which the relay closes a connection over TLS.
    enum Reason: CaseIterable {
        case refusal
        case headTimeout
        case closeFrame
        case otherEndLeft
        case violation
        case waitedTooLong
    }

    @Test("is announced by close_notify before FIN", arguments: Reason.allCases)
    func closeNotify(reason: Reason) async throws {
        let files = try await CertificateFiles()
        try closeNotify(reason, files.relayTransport(), files.clientContext())
    }

    private func closeNotify(_ reason: Reason, _ transport: SocketSecurity, _ tls: NIOSSLContext) throws {
        let relay = try HandDrivenRelay(transport: transport)
        let end: WireEnd
        switch reason {
        case .refusal:
            end = try relay.connect(tls: tls)
            try relay.settle()
            try end.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        case .headTimeout:
            end = try relay.connect(tls: tls)
            try relay.settle()
            try relay.advance(by: .seconds(61))
        case .waitedTooLong:
            end = try relay.phone(tls: tls).end
            try relay.advance(by: .seconds(121))
        case .closeFrame, .otherEndLeft, .violation:
            let (phone, client) = try relay.pair(tls: tls)
            end = client
            switch reason {
            case .closeFrame: try phone.send(Wire.closeFrame(1000))
            case .violation: try end.send(Wire.frame([1], mask: nil))
            default: phone.close()
            }
        }
        try relay.settle()
        #expect(end.hasEnded && !end.wasReset)
        #expect(end.tls?.hasReceivedCloseNotify == true)
    }

    @Test("is enforced on a peer that does not close, also between pings")
    func unanswered() throws {
        let relay = try HandDrivenRelay { $0.pingInterval = .minutes(10) }
        let (phone, client) = try relay.pair()
        try relay.advance(by: .seconds(1))
        client.close()
        try relay.settle()
        #expect(phone.takeFrames().map(\.closeCode) == [1001] && relay.connections == 1)
        try relay.advance(by: .seconds(6))
        #expect(relay.connections == 0)
    }

    @Test("comes after all output, even if the peer reads late", arguments: [true, false])
    func lateReader(hasTLS: Bool) async throws {
        let files = try await CertificateFiles()
        try lateReader(hasTLS ? files.relayTransport() : .plaintext, hasTLS ? files.clientContext() : nil)
    }

    private func lateReader(_ transport: SocketSecurity, _ tls: NIOSSLContext?) throws {
        let relay = try HandDrivenRelay(transport: transport) { $0.tunnelBytes = 1 << 30 }
        let (phone, client) = try relay.pair(tls: tls, buffer: Self.small)
        client.isReading = false
        try relay.flood(phone, message + message + message)
        try phone.send(Wire.closeFrame(1000))
        try relay.settle()
        #expect(phone.takeFrames().map(\.closeCode) == [1000])
        #expect(relay.bufferedBytes > 0)
        client.isReading = true
        try relay.settle()
        let frames = client.takeFrames()
        #expect(frames.map(\.payload.count) == [20_000, 20_000, 20_000, 2])
        #expect(frames.last?.closeCode == 1000)
        #expect(client.hasEnded && !client.wasReset)
        if let tls = client.tls { #expect(tls.hasReceivedCloseNotify) }
        #expect(relay.bufferedBytes == 0)
    }

    @Test("comes after a deadline if the peer never reads", arguments: [true, false])
    func neverReading(hasTLS: Bool) async throws {
        let files = try await CertificateFiles()
        try neverReading(hasTLS ? files.relayTransport() : .plaintext, hasTLS ? files.clientContext() : nil)
    }

    private func neverReading(_ transport: SocketSecurity, _ tls: NIOSSLContext?) throws {
        let relay = try HandDrivenRelay(transport: transport) { $0.tunnelBytes = 1 << 30 }
        let (phone, client) = try relay.pair(tls: tls, buffer: Self.small)
        client.isReading = false
        try relay.flood(phone, (0..<20).flatMap { _ in message })
        #expect(relay.bufferedBytes > 0)
        // A sweep records that the tunnel has carried data, at the time of the sweep.
        for seconds: Int64 in [1, 301] { try relay.advance(by: .seconds(seconds)) }
        #expect(phone.takeFrames().last?.closeCode == 1008)
        // Neither end closes its connection.
        #expect(relay.connections == 2)
        try relay.advance(by: .seconds(6))
        #expect(relay.connections == 0 && relay.bufferedBytes == 0)
    }

    @Test("follows at most 256 KiB of further input after a refusal")
    func afterRefusal() throws {
        let relay = try HandDrivenRelay()
        let end = try relay.connect()
        try end.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        try relay.settle()
        #expect(end.takeHead()?.hasPrefix("HTTP/1.1 404 ") == true)
        var sent = 0
        while relay.connections > 0, sent < 4 << 20 {
            sent += (try? end.socket.sendSome([UInt8](repeating: 0x61, count: 16 << 10))) ?? 0
            try relay.settle()
        }
        #expect((256 << 10...(256 + 64) << 10).contains(sent))
        #expect(relay.connections == 0)
    }

    @Test("may be the peer's in every phase, and leaves nothing behind", arguments: [true, false])
    func everyPhase(hasTLS: Bool) async throws {
        let files = try await CertificateFiles()
        try everyPhase(hasTLS ? files.relayTransport() : .plaintext, hasTLS ? files.clientContext() : nil)
    }

    private func everyPhase(_ transport: SocketSecurity, _ tls: NIOSSLContext?) throws {
        let relay = try HandDrivenRelay(transport: transport)
        for phase in 0..<6 {
            let end = try relay.connect(tls: tls)
            if phase > 0, let engine = end.tls { try end.socket.send(engine.takeOutput()) }
            if phase > 1 { try relay.settle() }
            if phase == 3 { try end.send(Array("GET /cable".utf8)) }
            if phase > 3 { try end.send(WireEnd.request()) }
            if phase > 4 {
                try relay.settle()
                try end.send(message)
            }
            end.close()
            try relay.settle()
            #expect(relay.connections == 0 && relay.bufferedBytes == 0, "phase \(phase)")
        }
    }
}
