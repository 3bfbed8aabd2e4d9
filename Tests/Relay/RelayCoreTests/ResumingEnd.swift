// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import OpenSSLTestSupport
import Testing

@testable import HybridRelayCore

/// A peer of a relay over TLS, which sends its first request as early data and decides when the handshake ends.
///
/// Must be used on one thread only.
final class ResumingEnd {
    let wire: WireEnd
    let tls: OpenSSLClient
    private(set) var received: [UInt8] = []

    init(_ wire: WireEnd, resuming ticket: OpenSSLClient.Ticket?) throws {
        self.wire = wire
        tls = try OpenSSLClient(resuming: ticket)
    }

    /// Decrypts what has arrived; what TLS has to answer stays unsent.
    func take() throws { received += try tls.receive(wire.takeReceived()) }

    /// Returns the head of the response if it has arrived.
    func takeHead() throws -> String? {
        try take()
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        defer { received.removeFirst(end.upperBound) }
        return String(decoding: received[..<end.upperBound], as: UTF8.self)
    }

    /// Returns all frames that have arrived.
    func takeFrames() throws -> [Wire.Received] {
        try take()
        var rest = received[...]
        var frames: [Wire.Received] = []
        while let frame = Wire.take(from: &rest) { frames.append(frame) }
        received = Array(rest)
        return frames
    }

    /// Sends the client's last flight, which ends the handshake, and bytes after it.
    func finish(_ bytes: [UInt8] = []) throws {
        try take()
        var records = tls.takeOutput()
        try #require(!records.isEmpty, "the client has a last flight")
        if !bytes.isEmpty { records += try tls.encrypt(bytes) }
        try wire.socket.send(records)
    }

    func send(_ bytes: [UInt8]) throws { try wire.socket.send(try tls.encrypt(bytes)) }
}

extension HandDrivenRelay {
    /// Runs `body` with a relay over TLS, on one thread, the TLS of clients, and a ticket.
    static func run(
        loops: Int = 1,
        connections: Int = 100,
        earlyBytes: Int = 64 << 10,
        _ body: (HandDrivenRelay, NIOSSLContext, OpenSSLClient.Ticket) throws -> Void
    ) async throws {
        let files = try await CertificateFiles()
        let relay = try HandDrivenRelay(loops: loops, transport: try files.relayTransport()) {
            $0.headTime = .seconds(5)
            $0.connections = connections
            $0.earlyBytes = earlyBytes
        }
        try body(relay, try files.clientContext(), try relay.ticket())
    }

    /// Returns a ticket of a connection that sends no request.
    func ticket(onLoop loop: Int = 0) throws -> OpenSSLClient.Ticket {
        let end = try ResumingEnd(try connect(onLoop: loop), resuming: nil)
        try end.wire.socket.send(try end.tls.hello())
        try settle()
        // A refusal, because the tickets precede the first response.
        try end.finish(WireEnd.request(routing: "ffffff"))
        try settle()
        try #require(try end.takeHead()?.hasPrefix("HTTP/1.1 404 ") == true)
        #expect(end.tls.tickets == 2 && end.tls.hasReceivedCloseNotify)
        end.wire.close()
        try settle()
        return try #require(end.tls.ticket)
    }

    /// Connects an end that sends its first flight with early data.
    func resuming(
        _ ticket: OpenSSLClient.Ticket,
        onLoop loop: Int = 0,
        early: [UInt8],
        buffer: CInt? = nil,
        padded: Bool = false
    ) throws -> ResumingEnd {
        let end = try ResumingEnd(try connect(onLoop: loop, buffer: buffer), resuming: ticket)
        if padded { end.tls.padRecords() }
        try end.wire.socket.send(try end.tls.early(early))
        try settle()
        return end
    }
}
