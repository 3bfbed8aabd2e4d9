// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore
import NIOEmbedded
import NIOWebSocket
import TestSupport

@testable import HybridDataChannel

/// A client's connection without a socket, and its reaction to a relay's bytes.
struct RelayConversation: Equatable {
    /// The key of RFC 6455 §1.3, to which `accept` is the response.
    private static let requestKey = "dGhlIHNhbXBsZSBub25jZQ=="
    static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    /// A response that opens the tunnel.
    static let answer = Array(
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Protocol: fido.cable\r\n"
            + "X-caBLE-Routing-ID: 010203\r\n\r\n").utf8
    )

    /// The response of a relay that listens for a phone.
    static let listeningAnswer = Array(
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Protocol: hybrid-relay.listen.v1\r\n\r\n").utf8
    )

    /// Result of the opening; `nil` while the response is incomplete.
    private(set) var opening: Opening?
    /// Messages before the first violation.
    private(set) var messages: [Message] = []
    /// True after a violation of the protocol.
    private(set) var isBroken = false

    enum Opening: Equatable {
        case opened(WebSocketUpgrade.Acceptance)
        case refused(TunnelError)
        /// The bytes are no response.
        case nonsense
    }

    struct Message: Equatable {
        let opcode: UInt8
        let payload: [UInt8]
    }

    /// Records the output of the pipeline.
    private final class Record: ChannelInboundHandler, @unchecked Sendable {
        // SAFETY of @unchecked: an embedded event loop runs on the current thread.
        typealias InboundIn = WebSocketFrame

        var conversation = RelayConversation()

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = Self.unwrapInboundIn(data)
            guard !conversation.isBroken, conversation.messages.last?.opcode != 8 else { return }
            conversation.messages.append(
                Message(
                    opcode: UInt8(webSocketOpcode: frame.opcode),
                    payload: Array(frame.unmaskedData.readableBytesView)
                )
            )
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            conversation.isBroken = true
            context.close(promise: nil)
        }
    }

    /// True if no tunnel was opened and no message was delivered.
    var isRefused: Bool {
        switch opening {
        case .refused?, .nonsense?: messages.isEmpty
        case .opened?, nil: false
        }
    }

    private init() {}

    /// Feeds bytes in pieces of a given size to a client with this path.
    init(_ path: TunnelPath, _ bytes: [UInt8], pieces size: Int) throws {
        let record = Record()
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish() }
        let upgrade = WebSocketUpgrade(
            host: "cable.example",
            displayName: "cable.example",
            uri: path.text,
            path: path,
            payload: ClientPayload(bytes: [1]),
            bearerToken: nil
        )
        let result = try upgrade.start(on: channel, requestKey: Self.requestKey) { channel, acceptance in
            try channel.pipeline.syncOperations.addHandler(record)
            return acceptance
        }
        result.whenComplete { result in
            switch result {
            case .success(let acceptance): record.conversation.opening = .opened(acceptance)
            case .failure(let error as TunnelError): record.conversation.opening = .refused(error)
            case .failure: record.conversation.opening = .nonsense
            }
        }
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 443), promise: nil)
        for piece in bytes.pieces(of: size) {
            if case .refused? = record.conversation.opening { break }
            guard channel.isActive, record.conversation.opening != .nonsense else { break }
            // Violations are in the record.
            _ = try? channel.writeInbound(ByteBuffer(bytes: piece))
            channel.embeddedEventLoop.run()
        }
        self = record.conversation
    }
}
