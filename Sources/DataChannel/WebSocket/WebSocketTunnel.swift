// SPDX-License-Identifier: Apache-2.0

public import CaBLE
internal import NIOCore
internal import NIOWebSocket

/// One end of a tunnel through a relay: binary WebSocket messages over TLS.
///
/// The relay is a stranger. Its certificate and name are checked, its answer must choose `fido.cable`, frames
/// that RFC 6455 forbids end the connection, a message is at most 1 MiB, and what is not read yet holds the
/// socket back. Secrets don't pass here: what travels is the handshake and encrypted frames.
public struct WebSocketTunnel: MessageChannel {
    private let inbox: Inbox
    private let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    private let channel: any Channel

    /// How long one message may wait for room.
    private static let patience = TimeAmount.seconds(30)

    /// The routing ID the relay gave, if a new tunnel was asked for.
    public let routingID: RoutingID?

    /// Opens a tunnel for as long as `body` runs.
    ///
    /// Closes it afterwards, with code 1000 when `body` returned and 1001 when it threw, and waits up to two
    /// seconds for the relay's answer, so that the last message is not lost.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`, and what `body` throws.
    public static func withTunnel<Result: Sendable>(
        _ path: TunnelPath,
        at location: RelayLocation,
        bearerToken: BearerToken? = nil,
        _ body: @Sendable (WebSocketTunnel) async throws -> Result
    ) async throws -> Result {
        let opened = try await TunnelOpening(location: location, path: path, bearerToken: bearerToken).open()
        return try await opened.channel.executeThenClose { inbound, outbound in
            let tunnel = WebSocketTunnel(
                inbox: Inbox(),
                outbound: outbound,
                channel: opened.channel.channel,
                routingID: opened.routingID
            )
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await tunnel.read(inbound) }
                defer { group.cancelAll() }
                do {
                    let result = try await body(tunnel)
                    await tunnel.sayGoodbye(.normalClosure)
                    return result
                } catch {
                    await tunnel.sayGoodbye(.goingAway)
                    throw error
                }
            }
        }
    }

    /// Sends one message; returns when there is room for the next, after 30 s at the latest.
    public func send(_ message: WireMessage) async throws {
        // First, because cancellation ends the reader too, which is then no loss of the connection.
        try Task.checkCancellation()
        if let end = inbox.end { throw end }
        // A relay that takes nothing more would hold the sender for ever.
        let alarm = channel.eventLoop.scheduleTask(in: Self.patience) { [inbox, channel] in
            inbox.finish(.stalled)
            channel.close(promise: nil)
        }
        defer { alarm.cancel() }
        do {
            try await outbound.write(frame(.binary, message.bytes))
            // The writer learns that the socket is full only when the loop has come to the message; a sender that did
            // not wait for that would fill the memory.
            try await channel.eventLoop.submit {}.get()
        } catch {
            // A cancelled writer says so in several ways.
            try Task.checkCancellation()
            throw inbox.end ?? .connectionLost
        }
    }

    /// Waits for the next message; a refusal ends the ceremony, because a WebSocket offers each message once.
    public func receive<Accepted: Sendable>(
        accept: @Sendable (WireMessage) -> Accepted?
    ) async throws -> Accepted {
        guard let accepted = accept(try await inbox.next()) else { throw TunnelError.messageRefused }
        return accepted
    }

    private func read(_ inbound: NIOAsyncChannelInboundStream<WebSocketFrame>) async {
        do {
            for try await frame in inbound {
                switch frame.opcode {
                case .binary:
                    await inbox.deliver(WireMessage(bytes: Array(frame.unmaskedData.readableBytesView)))
                case .ping:
                    try await outbound.write(self.frame(.pong, Array(frame.unmaskedData.readableBytesView)))
                case .connectionClose:
                    var payload = frame.unmaskedData
                    inbox.finish(.closed(code: payload.readInteger() ?? 1005))
                default: break
                }
            }
            inbox.finish(.connectionLost)
        } catch let error as TunnelError {
            inbox.finish(error)
        } catch is NIOWebSocketError {
            inbox.finish(.relayMisbehaved("it broke the WebSocket protocol"))
        } catch let error as NIOWebSocketFrameAggregator.Error {
            inbox.finish(.relayMisbehaved(Self.complaint(about: error)))
        } catch {
            inbox.finish(.connectionLost)
        }
    }

    private static func complaint(about error: NIOWebSocketFrameAggregator.Error) -> String {
        switch error {
        case .accumulatedFrameSizeIsTooLarge: "it sent a message of more than 1 MiB"
        case .tooManyFragments: "it sent a message in too many fragments"
        default: "it broke the WebSocket protocol"
        }
    }

    /// Sends a close frame and waits a moment for the other side's, whatever state the task is in.
    private func sayGoodbye(_ code: WebSocketErrorCode) async {
        let frame = closeFrame(code)
        let (inbox, outbound) = (self.inbox, self.outbound)
        // A task of its own: the caller may be cancelled, and the farewell is what tells the other side so.
        await Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    // Waits for room, which a relay that stopped reading never makes.
                    try? await outbound.write(frame)
                    await inbox.waitForEnd()
                }
                group.addTask { try? await Task.sleep(for: .seconds(2)) }
                await group.next()
                group.cancelAll()
            }
        }.value
    }

    private func closeFrame(_ code: WebSocketErrorCode) -> WebSocketFrame {
        var payload = channel.allocator.buffer(capacity: 2)
        payload.write(webSocketErrorCode: code)
        return WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: payload)
    }

    private func frame(_ opcode: WebSocketOpcode, _ bytes: [UInt8]) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: channel.allocator.buffer(bytes: bytes))
    }
}
