// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded

@testable import HybridRelayCore

/// A phone or client of a relay without sockets, with the bytes it sent and received.
final class RelayEnd {
    private let channel: EmbeddedChannel
    /// The requested tunnel ID.
    let tunnel: String
    /// The other end, once they are paired.
    weak var peer: RelayEnd?
    /// The routing ID assigned to a phone.
    private(set) var routing: String?

    /// Bytes sent after the request.
    private var sent: [UInt8] = []
    /// Received bytes, including the response.
    private var received: [UInt8] = []
    private var isOpen = true

    init(_ handler: TunnelHandler, loop: EmbeddedEventLoop, tunnel: String) throws {
        self.tunnel = tunnel
        channel = EmbeddedChannel(handler: handler, loop: loop)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    static func head(path: String, key: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: cable.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\nSec-WebSocket-Protocol: fido.cable\r\n\r\n"
    }

    /// Sends the request and the first frames at once.
    func request(_ head: [UInt8], _ early: [UInt8], in size: Int) throws {
        sent = early
        try write(head + early, in: size)
    }

    func send(_ bytes: [UInt8], in size: Int) throws {
        guard isAccepted else { return }
        sent += bytes
        try write(bytes, in: size)
    }

    private func write(_ bytes: [UInt8], in size: Int) throws {
        for piece in bytes.pieces(of: bytes.count / max(size, 1) > 300 ? 1000 : size) where channel.isActive {
            try channel.writeInbound(ByteBuffer(bytes: piece))
            try read()
        }
    }

    func toggleWritability() {
        guard channel.isActive else { return }
        channel.isWritable.toggle()
        channel.pipeline.fireChannelWritabilityChanged()
    }

    func close() {
        if channel.isActive { channel.close(promise: nil) }
    }

    /// Reads the bytes that the relay has written.
    private func read() throws {
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { received += buffer.readableBytesView }
        guard routing == nil, isAccepted, let response else { return }
        let lines = String(decoding: response, as: UTF8.self).split(separator: "\r\n")
        routing = lines.first { $0.hasPrefix("X-caBLE-Routing-ID: ") }.map { String($0.dropFirst(20)) }
    }

    /// The response head including its empty line, once it is complete.
    ///
    /// Refusals have a body after it.
    private var response: ArraySlice<UInt8>? {
        let end = Array("\r\n\r\n".utf8)
        guard received.count >= end.count else { return nil }
        // No response of the relay is longer.
        let places = 0...(min(received.count, 1000) - end.count)
        return places.first { received[$0...].starts(with: end) }.map { received[..<($0 + end.count)] }
    }

    /// True if it became the end of a tunnel.
    var isAccepted: Bool { received.starts(with: "HTTP/1.1 101 ".utf8) }

    /// Checks that all messages have arrived while both ends are connected.
    func checkBeforeClosing() throws {
        try read()
        guard let peer, channel.isActive, peer.channel.isActive else { return }
        try peer.read()
        try invariant(try peer.receivedMessages() == sentFrames().messages, "an open tunnel loses nothing")
    }

    func check() throws {
        try read()
        guard !received.isEmpty else { return }
        guard isAccepted else {
            let text = String(decoding: received, as: UTF8.self)
            try invariant(
                text.hasPrefix("HTTP/1.1 4") || text.hasPrefix("HTTP/1.1 503 "),
                "a refusal is an HTTP response"
            )
            return
        }
        let messages = try receivedMessages()
        let expected = peer?.sentFrames().messages ?? []
        try invariant(expected.starts(with: messages), "messages arrive in order and unchanged")
    }

    /// Returns the sent frames, parsed by the reference implementation.
    private func sentFrames() -> ReferenceFrames { ReferenceFrames(sent, masked: true, maximumMessage: 100_000) }

    /// Returns the received messages.
    ///
    /// Frames must be a server's, and nothing may follow a close frame.
    private func receivedMessages() throws -> [[UInt8]] {
        let frames = try present(
            ReferenceFrames.written(Array(received.dropFirst(response?.count ?? 0))),
            "after the response there are complete frames of a server"
        )
        let read = ReferenceFrames(Array(received.dropFirst(response?.count ?? 0)), masked: false)
        try invariant(read.frames == frames && read.end != .broken, "nothing follows a close frame")
        return read.messages
    }
}
