// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridDataChannel
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// One connection to the relay: it sends any bytes, right or wrong, and never waits longer than it is told.
struct ProbeSocket: Sendable {
    private let channel: any Channel
    private let inbox: NIOLoopBound<ProbeInbox>

    /// TLS towards a host, or none.
    struct TLS: Sendable {
        let context: NIOSSLContext
        let host: String
    }

    /// Where a connection goes.
    enum Target: Sendable {
        case name(host: String, port: Int)
        case address(SocketAddress)
    }

    /// A proxy, and what it is asked for.
    struct Passage: Sendable {
        let way: ProxyRoute
        let host: String
        let port: Int
    }

    private struct Begun: Sendable {
        let socket: ProbeSocket
        /// When the proxy has opened the way; `nil` without one.
        let opened: EventLoopFuture<Void>?
    }

    /// Returns once TCP is connected, and a proxy has opened the way; TLS goes on meanwhile.
    static func connect(
        to target: Target,
        through passage: Passage?,
        tls: TLS?,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> Self {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(max(deadline - .now(), .milliseconds(1)))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        let configure: @Sendable (any Channel) -> EventLoopFuture<Begun> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let opened = try passage.map { try open($0, on: channel, by: deadline) }
                if let tls {
                    try pipeline.addHandler(NIOSSLClientHandler(context: tls.context, serverHostname: tls.serverName))
                }
                let inbox = ProbeInbox()
                try pipeline.addHandler(inbox)
                let socket = ProbeSocket(channel: channel, inbox: NIOLoopBound(inbox, eventLoop: channel.eventLoop))
                return Begun(socket: socket, opened: opened)
            }
        }
        do {
            let begun =
                switch target {
                case .name(let host, let port):
                    try await bootstrap.connect(host: host, port: port, channelInitializer: configure)
                case .address(let address):
                    try await bootstrap.connect(to: address, channelInitializer: configure)
                }
            try await begun.opened?.get()
            return begun.socket
        } catch {
            throw .unreachable(passage.map { ProbeError.words(error, of: $0.way) } ?? ProbeError.words(error))
        }
    }

    /// Has the proxy asked for the way as soon as it is connected.
    private static func open(
        _ passage: Passage,
        on channel: any Channel,
        by deadline: NIODeadline
    ) throws -> EventLoopFuture<Void> {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let handler = passage.way.handler(to: passage.host, port: passage.port) {
            promise.completeWith($0.mapError { $0 })
        }
        let timer = channel.eventLoop.scheduleTask(deadline: deadline) {
            promise.fail(ProbeError.timedOut)
            channel.close(promise: nil)
        }
        promise.futureResult.whenComplete { _ in timer.cancel() }
        channel.closeFuture.whenComplete { _ in promise.fail(ChannelError.eof) }
        try channel.pipeline.syncOperations.addHandler(handler)
        return promise.futureResult
    }

    /// The address at the other end, also when the connection has ended.
    func remoteAddress() async -> SocketAddress? {
        try? await channel.eventLoop.submit { [inbox] in inbox.value.remoteAddress }.get()
    }

    /// The version of TLS that was agreed on, once something has been sent; also when the connection has ended.
    func tlsVersion() async -> TLSVersion? {
        try? await channel.eventLoop.submit { [inbox] in inbox.value.tlsVersion }.get()
    }

    /// From when to when the relay's certificate holds, in seconds since 1970; known as long as the version is.
    func certificatePeriod() async -> (start: Int, end: Int)? {
        try? await channel.eventLoop.submit { [inbox] in inbox.value.certificatePeriod }.get()
    }

    /// Has the system acknowledge what comes as late as it may, as it does anyway in the middle of a conversation:
    /// 40 ms, unless there is something to send.
    func delayAcknowledgements() async {
        try? await channel.setOption(.tcpOption(NIOBSDSocket.Option(rawValue: TCP_QUICKACK)), value: 0).get()
    }

    /// Returns once the system has taken the bytes, which is after the TLS handshake; tells when that was.
    @discardableResult
    func send(_ bytes: [UInt8], by deadline: NIODeadline) async throws(ProbeError) -> NIODeadline {
        try await sent(write(bytes), by: deadline)
    }

    /// Sends twice, the second time a moment after the first, and tells when each began.
    ///
    /// All of it happens on the connection's event loop: whoever waits for this may be resumed late.
    func sendTwice(
        _ first: [UInt8],
        _ second: [UInt8],
        apart pause: TimeAmount,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> (first: NIODeadline, second: NIODeadline) {
        let eventLoop = channel.eventLoop
        let both = eventLoop.flatSubmit { () -> EventLoopFuture<(first: NIODeadline, second: NIODeadline)> in
            let begun = NIODeadline.now()
            return write(first).flatMap { _ in
                eventLoop.flatScheduleTask(in: pause) {
                    let begunAgain = NIODeadline.now()
                    return write(second).map { _ in (begun, begunAgain) }
                }.futureResult
            }
        }
        return try await sent(both, by: deadline)
    }

    /// Writes, and tells when the system had taken all of it.
    private func write(_ bytes: [UInt8]) -> EventLoopFuture<NIODeadline> {
        channel.writeAndFlush(ByteBuffer(bytes: bytes)).map { [channel, inbox] in
            // Asked here, where the connection is still there: it may have ended when the next task runs.
            inbox.value.noteTLS(of: channel)
            return .now()
        }
    }

    private func sent<Value: Sendable>(
        _ written: EventLoopFuture<Value>,
        by deadline: NIODeadline
    ) async throws(ProbeError) -> Value {
        let promise = channel.eventLoop.makePromise(of: Value.self)
        let timer = channel.eventLoop.scheduleTask(deadline: deadline) { promise.fail(ProbeError.timedOut) }
        written.cascade(to: promise)
        do {
            let value = try await promise.futureResult.get()
            timer.cancel()
            return value
        } catch {
            timer.cancel()
            // What the connection said when it ended tells more than a write that came too late.
            let why = try? await channel.eventLoop.submit { [inbox] in inbox.value.whyEnded }.get()
            throw why ?? ProbeError(error)
        }
    }

    /// What `parse` makes of the bytes that come.
    func next<Value: Sendable>(
        by deadline: NIODeadline,
        _ parse: @escaping @Sendable (inout ByteBuffer) throws(ProbeError) -> Value?
    ) async throws(ProbeError) -> Value {
        try await nextTimed(by: deadline, parse).value
    }

    /// The same, and when the last of those bytes came, however late it is asked for.
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

    /// Ends the connection in the proper way; does not wait long for a relay that keeps its end of TLS open.
    func close() async {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let timer = channel.eventLoop.scheduleTask(in: .milliseconds(300)) { promise.succeed() }
        channel.close().whenComplete { _ in
            timer.cancel()
            promise.succeed()
        }
        try? await promise.futureResult.get()
    }

    /// Breaks the TCP connection: no close frame, no goodbye of TLS, a reset.
    func cut() async {
        let channel = channel
        let done = channel.eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
            let promise = channel.eventLoop.makePromise(of: Void.self)
            let atOnce = linger(l_onoff: 1, l_linger: 0)
            let pipeline = channel.pipeline.syncOperations
            _ = (channel as? any SocketOptionProvider)?.setSoLinger(atOnce)
            if let tls = try? pipeline.context(handlerType: NIOSSLClientHandler.self) {
                // From here the close goes towards the socket and past TLS.
                tls.close(promise: promise)
            } else {
                channel.close(promise: promise)
            }
            return promise.futureResult
        }
        try? await done.get()
    }
}

extension ProbeSocket.TLS {
    /// What stands in SNI and is compared with the certificate; an address is compared without being sent.
    fileprivate var serverName: String? {
        (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
    }
}

extension ProbeSocket {
    /// Whether two values are the same connection.
    func isSame(as other: ProbeSocket) -> Bool { channel === other.channel }
}
