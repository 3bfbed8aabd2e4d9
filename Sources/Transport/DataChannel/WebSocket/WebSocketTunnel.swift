// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridNetwork
internal import NIOCore
internal import NIOWebSocket

/// One end of a tunnel through a relay: binary WebSocket messages over TLS.
///
/// The relay is not trusted. Its certificate and name are checked, its response must select the subprotocol
/// `fido.cable`, and frames that RFC 6455 forbids end the connection. A message has at most 1 MiB. While several
/// messages are unread, the socket is not read. The tunnel carries only the handshake and encrypted frames, no secrets.
public struct WebSocketTunnel: MessageChannel {
    let channel: any Channel
    let traffic: TunnelTraffic

    /// Maximum time that a message waits until the socket accepts more data.
    private static let sendTimeout = TimeAmount.seconds(30)

    let acceptance: WebSocketUpgrade.Acceptance

    /// The routing ID from the relay, if a new tunnel was requested.
    public var routingID: RoutingID? { acceptance.routingID }

    /// Opens a tunnel, runs `body`, and closes the tunnel.
    ///
    /// The close code is 1000 if `body` returned and 1001 if it threw. Closing waits up to two seconds for the relay's
    /// close frame, so that the last message is not lost. With `closing`, this happens in the background.
    ///
    /// - Parameters:
    ///   - path: The request: a new tunnel, or one to join.
    ///   - relay: The relay.
    ///   - bearerToken: The relay's token, if it requires one.
    ///   - closing: Closes the tunnel in the background after `body` has returned or its task was canceled; `nil` to
    ///     wait for the close.
    ///   - redirected: Called for each redirection before it is followed.
    ///   - body: The work in the tunnel.
    /// - Throws: ``TunnelError``, `CancellationError`, and the errors of `body`.
    public static func withTunnel<Result: Sendable>(
        _ path: TunnelPath,
        at relay: RelayEndpoint,
        bearerToken: BearerToken? = nil,
        closing: ClosingTunnels? = nil,
        redirected: @escaping @Sendable (RedirectStep) -> Void = { _ in },
        _ body: @Sendable (WebSocketTunnel) async throws -> Result
    ) async throws -> Result {
        let opening = TunnelOpening(relay: relay, path: path, bearerToken: bearerToken, redirected: redirected)
        return try await run(opening, closing: closing, body)
    }

    /// Contacts a linked phone, runs `body` in the tunnel to it, and closes the tunnel as
    /// ``withTunnel(_:at:bearerToken:closing:redirected:_:)`` does.
    ///
    /// The relay may accept before the phone has joined. If it announces the phone's arrival, ``waitForPhone()`` must be
    /// called before anything is received. A message that is sent earlier waits in the relay. The error of `body` is
    /// ``TunnelError/phoneDeclined`` if the user declined.
    ///
    /// - Parameters:
    ///   - contact: Contact ID of the link.
    ///   - payload: The message to the phone.
    ///   - relay: The relay of the link's tunnel domain.
    ///   - closing: As for ``withTunnel(_:at:bearerToken:closing:redirected:_:)``.
    ///   - redirected: Called for each redirection before it is followed.
    ///   - body: The work in the tunnel; its second argument is true if the relay announces the phone's arrival.
    /// - Throws: ``TunnelError``, in particular ``TunnelError/contactUnreachable``, ``TunnelError/contactGone(_:)`` and
    ///   ``TunnelError/contactLimited``; `CancellationError`, and the errors of `body`.
    public static func withContact<Result: Sendable>(
        _ contact: ContactID,
        payload: ClientPayload,
        at relay: RelayEndpoint,
        closing: ClosingTunnels? = nil,
        redirected: @escaping @Sendable (RedirectStep) -> Void = { _ in },
        _ body: @Sendable (WebSocketTunnel, _ signalsConnection: Bool) async throws -> Result
    ) async throws -> Result {
        let opening = TunnelOpening(
            relay: relay,
            path: .contact(contact),
            payload: payload,
            bearerToken: nil,
            redirected: redirected
        )
        return try await run(opening, closing: closing) { tunnel in
            try await body(tunnel, tunnel.acceptance.signalsConnection)
        }
    }

    /// Opens a tunnel or another connection to a relay, runs `body`, and closes the connection.
    static func run<Result: Sendable>(
        _ opening: TunnelOpening,
        closing: ClosingTunnels? = nil,
        _ body: @Sendable (WebSocketTunnel) async throws -> Result
    ) async throws -> Result {
        let tunnel = try await opening.open()
        do {
            let result = try await body(tunnel)
            guard let closing else {
                await tunnel.end(.normalClosure)
                return result
            }
            closing.add { await tunnel.end(.normalClosure) }
            return result
        } catch {
            // A canceled session may have lost against another one, whose result must not wait.
            if let closing, Task.isCancelled {
                closing.add { await tunnel.end(.goingAway) }
            } else {
                await tunnel.end(.goingAway)
            }
            throw error
        }
    }

    /// Sends one message; returns when there is room for the next, and throws if there is none after 30 seconds.
    public func send(_ message: WireMessage) async throws {
        try Task.checkCancellation()
        if let end = traffic.end { throw end }
        let frame = WebSocketFrame(masked: .binary, channel.allocator.buffer(bytes: message.bytes))
        // A relay that accepts no more data would block the sender indefinitely.
        try await withTimeLimit(Self.sendTimeout, .stalled) {
            // The channel is checked on the event loop right before the write. Right after the write, the peer may
            // already have closed the connection, because it has received all that it needs.
            let isWritten = try await channel.eventLoop.submit { [channel] in
                guard channel.isActive else { return false }
                channel.writeAndFlush(frame, promise: nil)
                return true
            }.get()
            guard isWritten else { throw traffic.end ?? .connectionLost }
            try await traffic.waitForRoom()
        }
    }

    /// Waits for the next message; throws if `accept` rejects it, because a WebSocket offers each message only once.
    public func receive<Accepted: Sendable>(accept: @Sendable (WireMessage) -> Accepted?) async throws -> Accepted {
        guard let accepted = accept(try await traffic.next()) else { throw TunnelError.messageRefused }
        return accepted
    }

    /// Waits until the contacted phone has joined; returns at once if the relay does not announce that.
    ///
    /// The relay's announcement is a message of one byte `00`, which is consumed. Any other message is an error, because
    /// the phone only answers.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    public func waitForPhone() async throws {
        guard acceptance.signalsConnection else { return }
        guard try await traffic.next().bytes == [0] else {
            throw TunnelError.relayMisbehaved("it sent data before it announced the phone")
        }
    }

    /// Runs `body`, and ends the tunnel with `error` if it takes longer than `limit`.
    func withTimeLimit<Result>(
        _ limit: TimeAmount,
        _ error: TunnelError,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let timer = channel.eventLoop.scheduleTask(in: limit) { [traffic, channel] in
            traffic.finish(error)
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        return try await body()
    }

    /// Ends the tunnel with ``TunnelError/relaySilent`` whenever nothing has arrived for `limit`.
    func endAfterSilence(_ limit: TimeAmount) async throws {
        try await channel.eventLoop.submit { [channel] in
            let handler = IdleStateHandler(readTimeout: limit)
            try channel.pipeline.syncOperations.addHandler(handler, position: .first)
        }.get()
    }

    /// Closes the tunnel before `withTunnel` does; afterwards, nothing can be sent or received.
    public func close() async { await end(.goingAway) }

    /// Closes the connection without a close frame or a TLS alert, as if the device lost its network or its power.
    ///
    /// For tests of the other end. Returns when the relay has closed the connection, too, or after two seconds.
    package func abort() async {
        traffic.discard()
        // Closes below TLS, which would send an alert. This fails if the connection is already closed, which is
        // harmless.
        try? await channel.eventLoop.submit { [channel] in
            try channel.pipeline.syncOperations.context(handlerType: TLSClientHandler.self)
                .close(mode: .output, promise: nil)
        }.get()
        await closeAtEnd()
    }

    /// Sends a close frame, waits up to two seconds for the peer's, and closes the connection, even in a canceled task.
    private func end(_ code: WebSocketErrorCode) async {
        // The peer's close frame comes after the unread messages.
        traffic.discard()
        var payload = channel.allocator.buffer(capacity: 2)
        payload.write(webSocketErrorCode: code)
        channel.writeAndFlush(WebSocketFrame(masked: .connectionClose, payload), promise: nil)
        await closeAtEnd()
    }

    /// Closes the connection when the peer has ended it, or after two seconds.
    private func closeAtEnd() async {
        let traffic = self.traffic
        // A separate task, because the caller may be canceled and the peer must still receive the close frame.
        await Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await traffic.waitForEnd() }
                group.addTask { try? await Task.sleep(for: .seconds(2)) }
                await group.next()
                group.cancelAll()
            }
        }.value
        channel.close(promise: nil)
        // This future never fails.
        try? await channel.closeFuture.get()
    }
}

extension WebSocketFrame {
    /// Creates an unfragmented client frame, which must be masked (RFC 6455 §5.3).
    init(masked opcode: WebSocketOpcode, _ payload: ByteBuffer) {
        self.init(fin: true, opcode: opcode, maskKey: .random(), data: payload)
    }
}
