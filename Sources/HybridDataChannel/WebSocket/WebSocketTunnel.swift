// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
internal import NIOCore
internal import NIOSSL
internal import NIOWebSocket

/// One end of a tunnel through a relay: binary WebSocket messages over TLS.
///
/// The relay is a stranger. Its certificate and name are checked, its answer must choose `fido.cable`, frames
/// that RFC 6455 forbids end the connection, a message is at most 1 MiB, and what is not read yet holds the
/// socket back. Secrets don't pass here: what travels is the handshake and encrypted frames.
public struct WebSocketTunnel: MessageChannel {
    private let channel: any Channel
    private let traffic: TunnelTraffic

    /// How long one message may wait for room.
    private static let patience = TimeAmount.seconds(30)

    /// The routing ID the relay gave, if a new tunnel was asked for.
    public let routingID: RoutingID?

    private init(_ opened: OpenedTunnel) {
        self.channel = opened.channel
        self.traffic = opened.traffic
        self.routingID = opened.routingID
    }

    /// Opens a tunnel for as long as `body` runs.
    ///
    /// Closes it afterwards, with code 1000 when `body` returned and 1001 when it threw, and waits up to two
    /// seconds for the relay's answer, so that the last message is not lost. `redirected` is told where the relay sends
    /// to, before anybody goes there.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`, and what `body` throws.
    public static func withTunnel<Result: Sendable>(
        _ path: TunnelPath,
        at location: RelayEndpoint,
        bearerToken: BearerToken? = nil,
        redirected: @escaping @Sendable (RedirectStep) -> Void = { _ in },
        _ body: @Sendable (WebSocketTunnel) async throws -> Result
    ) async throws -> Result {
        let opening = TunnelOpening(
            location: location,
            path: path,
            bearerToken: bearerToken,
            redirected: redirected
        )
        let opened = try await opening.open()
        let tunnel = WebSocketTunnel(opened)
        do {
            let result = try await body(tunnel)
            await tunnel.end(.normalClosure)
            return result
        } catch {
            await tunnel.end(.goingAway)
            throw error
        }
    }

    /// Sends one message; returns when there is room for the next, after 30 s at the latest.
    public func send(_ message: WireMessage) async throws {
        try Task.checkCancellation()
        if let end = traffic.end { throw end }
        // A relay that takes nothing more would hold the sender for ever.
        let alarm = channel.eventLoop.scheduleTask(in: Self.patience) { [traffic, channel] in
            traffic.finish(.stalled)
            channel.close(promise: nil)
        }
        defer { alarm.cancel() }
        let frame = frame(.binary, message.bytes)
        // Whether there is room for the next is known when the loop has come to this one. Looked at any later, the
        // other side may have closed because it has got what it wanted.
        let isWritten = try await channel.eventLoop.submit { [channel] in
            guard channel.isActive else { return false }
            channel.writeAndFlush(frame, promise: nil)
            return true
        }.get()
        guard isWritten else { throw traffic.end ?? .connectionLost }
        try await traffic.waitForRoom()
    }

    /// Waits for the next message; a refusal ends the ceremony, because a WebSocket offers each message once.
    public func receive<Accepted: Sendable>(
        accept: @Sendable (WireMessage) -> Accepted?
    ) async throws -> Accepted {
        guard let accepted = accept(try await traffic.next()) else { throw TunnelError.messageRefused }
        return accepted
    }

    /// Leaves before `withTunnel` does so, for a tunnel that nobody needs any more; then nothing more comes or goes.
    public func leave() async { await end(.goingAway) }

    /// Leaves without a word, neither WebSocket's nor TLS's, as where a device loses its network or its power.
    ///
    /// For tests of what the other end makes of that. Returns when the relay has hung up, too, after two seconds at the
    /// latest; then nothing more comes or goes.
    public func cut() async {
        traffic.discard()
        // From beneath TLS, which would say goodbye. It fails where the connection is gone already, which is as good.
        try? await channel.eventLoop.submit { [channel] in
            try channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
                .close(mode: .output, promise: nil)
        }.get()
        await closeAtEnd()
    }

    /// Sends a close frame, waits a moment for the other side's, and closes, whatever state the task is in.
    private func end(_ code: WebSocketErrorCode) async {
        // What lies unread stands before the other side's close frame.
        traffic.discard()
        channel.writeAndFlush(closeFrame(code), promise: nil)
        await closeAtEnd()
    }

    /// Closes when the other side has ended it, after two seconds at the latest.
    private func closeAtEnd() async {
        let traffic = self.traffic
        // A task of its own: the caller may be cancelled, and the farewell is what tells the other side so.
        await Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await traffic.waitForEnd() }
                group.addTask { try? await Task.sleep(for: .seconds(2)) }
                await group.next()
                group.cancelAll()
            }
        }.value
        channel.close(promise: nil)
        // Never fails; that the connection is closed is all that counts.
        try? await channel.closeFuture.get()
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
