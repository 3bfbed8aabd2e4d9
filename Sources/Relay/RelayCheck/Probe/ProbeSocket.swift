// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridNetwork
internal import NIOCore
internal import NIOPosix

/// One connection to the relay, over which any bytes can be sent, valid or not; all waits have deadlines.
struct ProbeSocket: Sendable {
    private let channel: any Channel
    private let inbox: NIOLoopBound<ProbeInbox>

    /// The target of a connection.
    enum Target: Sendable {
        case name(host: String, port: Int)
        case address(SocketAddress)
    }

    /// A proxy, and the host to connect to through it.
    struct ProxyTunnel: Sendable {
        let proxy: HTTPProxy
        let host: String
        let port: Int
    }

    /// Connects, and returns once TCP is connected and a proxy has opened the tunnel; the TLS handshake follows.
    ///
    /// - Parameters:
    ///   - target: The relay, or the proxy.
    ///   - proxyTunnel: The proxy's tunnel, if there is a proxy.
    ///   - tls: The settings of connections with TLS.
    ///   - host: The relay's name for SNI and the certificate check; an address is checked without being sent.
    ///   - deadline: The deadline for TCP and the proxy together.
    static func connect(
        to target: Target,
        through proxyTunnel: ProxyTunnel?,
        tls: ClientTLS?,
        host: String,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> Self {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(max(deadline - .now(), .milliseconds(1)))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        // The second future completes when the proxy has opened the tunnel.
        let configure: @Sendable (any Channel) -> EventLoopFuture<(Self, EventLoopFuture<Void>?)> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let opened = try proxyTunnel.map { try open($0, on: channel, by: deadline) }
                if let tls { try pipeline.addHandler(tls.handler(for: host)) }
                let inbox = ProbeInbox()
                try pipeline.addHandler(inbox)
                return (Self(channel: channel, inbox: NIOLoopBound(inbox, eventLoop: channel.eventLoop)), opened)
            }
        }
        do {
            let (socket, opened) =
                switch target {
                case .name(let host, let port):
                    try await bootstrap.connect(host: host, port: port, channelInitializer: configure)
                case .address(let address):
                    try await bootstrap.connect(to: address, channelInitializer: configure)
                }
            try await opened?.get()
            return socket
        } catch {
            throw .unreachable(proxyTunnel.map { ProbeError.words(error, of: $0.proxy) } ?? ProbeError.words(error))
        }
    }

    /// Adds the handler that requests the tunnel from the proxy once it is connected.
    private static func open(
        _ proxyTunnel: ProxyTunnel,
        on channel: any Channel,
        by deadline: NIODeadline
    ) throws -> EventLoopFuture<Void> {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let handler = proxyTunnel.proxy.connectHandler(to: proxyTunnel.host, port: proxyTunnel.port) {
            promise.completeWith($0.mapError { $0 })
        }
        channel.closeFuture.whenComplete { _ in promise.fail(ChannelError.eof) }
        try channel.pipeline.syncOperations.addHandler(handler)
        let opened = promise.futureResult.limited(by: deadline)
        opened.whenFailure { _ in channel.close(promise: nil) }
        return opened
    }

    /// Returns a fact about the connection, even after its end; facts about TLS are known once data has been sent.
    func recorded<Value: Sendable>(_ fact: any KeyPath<ProbeInbox, Value?> & Sendable) async -> Value? {
        try? await channel.eventLoop.submit { [inbox] in inbox.value[keyPath: fact] }.get()
    }

    /// Makes the system delay acknowledgments by 40 ms unless there is data to send.
    ///
    /// In an interactive connection, the system eventually does so by itself.
    func delayAcknowledgements() async {
        try? await channel.setOption(.tcpOption(NIOBSDSocket.Option(rawValue: TCP_QUICKACK)), value: 0).get()
    }

    /// Sends bytes, and returns the time when the system has accepted them, which is after the TLS handshake.
    @discardableResult
    func send(_ bytes: [UInt8], by deadline: NIODeadline) async throws(ProbeError) -> NIODeadline {
        try await sent(write(bytes), by: deadline)
    }

    /// Sends a frame twice, with a pause, and returns the times when the two writes began.
    ///
    /// Both writes run on the connection's event loop, because the calling task may be resumed late.
    func send(
        _ frame: ProbeFrame,
        twiceApart pause: TimeAmount,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> (first: NIODeadline, second: NIODeadline) {
        let eventLoop = channel.eventLoop
        let both = eventLoop.flatSubmit { () -> EventLoopFuture<(first: NIODeadline, second: NIODeadline)> in
            let start = NIODeadline.now()
            return write(frame.bytes()).flatMap { _ in
                eventLoop.flatScheduleTask(in: pause) {
                    let secondStart = NIODeadline.now()
                    // A new mask for each frame (RFC 6455 §5.3).
                    return write(frame.bytes()).map { _ in (start, secondStart) }
                }.futureResult
            }
        }
        return try await sent(both, by: deadline)
    }

    /// Writes bytes, and returns the time when the system has accepted all of them.
    private func write(_ bytes: [UInt8]) -> EventLoopFuture<NIODeadline> {
        channel.writeAndFlush(ByteBuffer(bytes: bytes)).map { [channel, inbox] in
            // This is done at once, because the connection may have ended when the next task runs.
            inbox.value.recordTLS(of: channel)
            return .now()
        }
    }

    private func sent<Value: Sendable>(
        _ written: EventLoopFuture<Value>,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> Value {
        do {
            return try await written.limited(by: deadline).get()
        } catch {
            // The reason for the end of the connection is more precise than the error of a late write.
            throw await recorded(\.ending) ?? ProbeError(error)
        }
    }

    /// Waits until `parse` returns a value, and returns it with the arrival time of its last byte.
    func nextTimed<Value: Sendable>(
        by deadline: NIODeadline,
        _ parse: @escaping @Sendable (inout ByteBuffer) throws(ProbeError) -> Value?
    ) async throws(ProbeError) -> (value: Value, arrival: NIODeadline) {
        let eventLoop = channel.eventLoop
        do {
            return try await eventLoop.flatSubmit { [inbox] in
                inbox.value.next(by: deadline, on: eventLoop, parse)
            }.get()
        } catch {
            throw ProbeError(error)
        }
    }

    /// Closes the connection in an orderly way; waits at most 300 ms for the relay to close its end of TLS.
    func close() async {
        try? await channel.close().limited(by: .now() + .milliseconds(300)).get()
    }

    /// Resets the TCP connection, without a close frame or a TLS alert.
    func reset() async {
        let channel = channel
        let done = channel.eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
            let promise = channel.eventLoop.makePromise(of: Void.self)
            let atOnce = linger(l_onoff: 1, l_linger: 0)
            let pipeline = channel.pipeline.syncOperations
            _ = (channel as? any SocketOptionProvider)?.setSoLinger(atOnce)
            if let tls = try? pipeline.context(handlerType: TLSClientHandler.self) {
                // From this context, the close goes to the socket and bypasses TLS.
                tls.close(promise: promise)
            } else {
                channel.close(promise: promise)
            }
            return promise.futureResult
        }
        try? await done.get()
    }
}

extension ProbeSocket: Equatable {
    /// Returns true if both values are the same connection.
    static func == (left: Self, right: Self) -> Bool { left.channel === right.channel }
}

extension EventLoopFuture where Value: Sendable {
    /// Returns a future that fails with ``ProbeError/timedOut`` if this one has not completed by the deadline.
    fileprivate func limited(by deadline: NIODeadline) -> EventLoopFuture<Value> {
        let promise = eventLoop.makePromise(of: Value.self)
        let timer = eventLoop.scheduleTask(deadline: deadline) { promise.fail(ProbeError.timedOut) }
        cascade(to: promise)
        promise.futureResult.whenComplete { _ in timer.cancel() }
        return promise.futureResult
    }
}
