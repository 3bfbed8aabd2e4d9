// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded

@testable import HybridRelayCore

/// A phone or a client of a relay without sockets, and what it sent and got.
final class RelayEnd {
    private let channel: EmbeddedChannel
    /// The tunnel it asked for.
    let tunnel: String
    /// The other end, once both have met.
    weak var peer: RelayEnd?
    /// The routing ID that a phone was given.
    private(set) var routing: String?

    /// What it sent behind its request.
    private var sent: [UInt8] = []
    /// What it got, its answer included.
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

    /// Sends the request and what follows at once.
    func ask(_ head: [UInt8], _ eager: [UInt8], in size: Int) throws {
        sent = eager
        try write(head + eager, in: size)
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

    func hangUp() {
        if channel.isActive { channel.close(promise: nil) }
    }

    /// Takes what the relay has written.
    private func read() throws {
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { received += buffer.readableBytesView }
        guard routing == nil, isAccepted, let answer else { return }
        let lines = String(decoding: answer, as: UTF8.self).split(separator: "\r\n")
        routing = lines.first { $0.hasPrefix("X-caBLE-Routing-ID: ") }.map { String($0.dropFirst(20)) }
    }

    /// The answer up to its empty line, once there is one; refusals have a body behind it.
    private var answer: ArraySlice<UInt8>? {
        let end = Array("\r\n\r\n".utf8)
        guard received.count >= end.count else { return nil }
        // No answer of the relay is longer.
        let places = 0...(min(received.count, 1000) - end.count)
        return places.first { received[$0...].starts(with: end) }.map { received[..<($0 + end.count)] }
    }

    /// Whether it became the end of a tunnel.
    var isAccepted: Bool { received.starts(with: "HTTP/1.1 101 ".utf8) }

    /// While both ends are there and neither has ended the tunnel, everything has arrived.
    func checkBeforeHangingUp() throws {
        try read()
        guard let peer, channel.isActive, peer.channel.isActive else { return }
        try peer.read()
        try invariant(try peer.arrived() == outgoing().messages, "a tunnel that is open loses nothing")
    }

    func check() throws {
        try read()
        guard !received.isEmpty else { return }
        guard isAccepted else {
            let text = String(decoding: received, as: UTF8.self)
            try invariant(text.hasPrefix("HTTP/1.1 4") || text.hasPrefix("HTTP/1.1 503 "), "a refusal is an answer")
            return
        }
        let messages = try arrived()
        let expected = peer?.outgoing().messages ?? []
        try invariant(expected.starts(with: messages), "messages arrive in order and unchanged")
    }

    /// What it sent, as a slow reader finds it.
    private func outgoing() -> ReferenceFrames { ReferenceFrames(sent, masked: true, maximumMessage: 100_000) }

    /// The messages it got; frames must be a server's and nothing may follow a close frame.
    private func arrived() throws -> [[UInt8]] {
        let frames = try present(
            ReferenceFrames.written(Array(received.dropFirst(answer?.count ?? 0))),
            "behind the answer are a server's frames, whole"
        )
        let read = ReferenceFrames(Array(received.dropFirst(answer?.count ?? 0)), masked: false)
        try invariant(read.frames == frames && read.end != .broken, "nothing follows a close frame")
        return read.messages
    }
}
