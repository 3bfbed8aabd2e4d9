// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridPrimitives
internal import HybridThreads
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A server of the page that shows the QR code and the progress in a browser on this computer.
///
/// ```
/// program                               browser
///    │ starts it with /open/{token} ──→ │
///    │ ←────────── GET /open/{token}    │  once: a second use ends the ceremony
///    │ cookie, "go to /" ─────────────→ │
///    │ ←─────────────────────── GET /   │  again after each reload
///    │ ←───────────────── GET /events   │
///    │ scan, found, connecting … ─────→ │  one event each
///    │ done, or failed ───────────────→ │
/// ```
///
/// Anyone who sees the code can respond to it with their own passkey, so only the user's own browser may load the page.
/// The socket must belong to that user (`SocketOwner`), and Host and Origin must be those of the page
/// (`PageResponder`). The first request must contain a token, which can be used only once; later requests must contain
/// a cookie. The code is shown only until a phone is found. Requests and responses of websites are never sent to the
/// page.
///
/// Each connection may send one request of limited size and duration. Closing the page cancels the ceremony
/// (``PageAbandonment``). The page counts as closed three seconds after its last event stream has ended, so that a
/// reload does not cancel the ceremony.
package final class PageServer: Sendable {
    private struct State {
        var responder: PageResponder
        var progress: PageProgress
        var streams: [ObjectIdentifier: any Channel] = [:]
        /// The number of event streams that have ended.
        var departures = 0
        var connections = 0
        /// The number of connections whose owner is still being looked up.
        var unidentified = 0
        var isEnded = false
    }

    /// The address of the page, which contains the token.
    package let address: PageAddress
    /// A stream that yields at most one value: the reason why the ceremony must end.
    package let abandonments: AsyncStream<PageAbandonment>

    private let state: Locked<State>
    private let listener: any Channel
    private let limits: PageLimits
    private let owner: OwnerLookup
    private let abandoned: AsyncStream<PageAbandonment>.Continuation

    /// Starts a server on a port of 127.0.0.1 that the system chooses.
    ///
    /// - Throws: ``PageError``.
    package static func start(_ subject: PageSubject) async throws -> PageServer {
        try await start(subject, limits: PageLimits(), owner: SocketOwner.user)
    }

    /// A function that returns the ID of the user who owns the client's socket; it may block.
    ///
    /// The arguments are the addresses of client and server. The result is `nil` if the user is unknown.
    typealias OwnerLookup = @Sendable (SocketAddress, SocketAddress) -> UInt32?

    static func start(
        _ subject: PageSubject,
        limits: PageLimits,
        owner: @escaping OwnerLookup
    ) async throws -> PageServer {
        guard SocketOwner.isAvailable else { throw PageError.ownersUnknown }
        // The handlers need the server, and the server needs the port, which is known only after binding.
        let server = Locked<PageServer?>(nil)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .serverChannelOption(.backlog, value: 16)
            .childChannelInitializer { channel in
                guard let server = server.withLock({ $0 }) else { return channel.close() }
                return server.admit(channel)
            }
        let listener: any Channel
        do {
            listener = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        } catch {
            throw PageError.noPort("\(error)")
        }
        let started = PageServer(subject, listener, limits, owner)
        server.withLock { $0 = started }
        listener.closeFuture.whenComplete { _ in server.withLock { $0 = nil } }
        return started
    }

    private init(_ subject: PageSubject, _ listener: any Channel, _ limits: PageLimits, _ owner: @escaping OwnerLookup)
    {
        let port = listener.localAddress?.port ?? 0
        let token = PageToken()
        let responder = PageResponder(port: port, token: token, cookie: PageToken(), maximumStreams: limits.streams)
        address = PageAddress(origin: responder.origin, token: token)
        state = Locked(State(responder: responder, progress: PageProgress(subject, at: .now)))
        (abandonments, abandoned) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        self.listener = listener
        self.limits = limits
        self.owner = owner
    }

    /// True if a browser has used the token.
    package var wasOpened: Bool { state.withLock { $0.responder.isTokenUsed } }

    /// Shows a stage; ignored after the last stage.
    package func show(_ stage: PageStage) { update { $0.show(stage, at: .now) } }

    /// Shows a warning, which remains visible in all following stages.
    package func warn(_ text: String) { update { $0.warn(text) } }

    /// Shows the last stage, stops listening, and ends all event streams when the stage has been sent.
    package func end(_ last: PageStage) async {
        show(last)
        let streams = state.withLock { state in
            state.isEnded = true
            return Array(state.streams.values)
        }
        abandoned.finish()
        try? await listener.close().get()
        let timeout = limits.closeTimeout
        for stream in streams {
            stream.eventLoop.execute {
                stream.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in stream.close(promise: nil) }
                stream.eventLoop.scheduleTask(in: timeout) { stream.close(promise: nil) }
            }
        }
        for stream in streams { try? await stream.closeFuture.get() }
    }

    private func update(_ change: (inout PageProgress) -> Bool) {
        state.withLock { state in
            guard change(&state.progress) else { return }
            let message = ByteBuffer(bytes: state.progress.message(at: .now))
            // Messages are enqueued while the lock is held, so that those of several threads keep their order.
            for stream in state.streams.values { Self.send(message, to: stream) }
        }
    }

    /// Sends a message to an event stream, or closes the stream if the browser does not read it.
    ///
    /// The browser then reconnects and receives the newest state.
    private static func send(_ message: ByteBuffer, to stream: any Channel) {
        stream.eventLoop.execute {
            guard stream.isWritable else { return stream.close(promise: nil) }
            stream.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(message)), promise: nil)
        }
    }
}

// MARK: Connections

extension PageServer {
    /// Admits a connection if its socket belongs to this user and there are not too many connections; otherwise closes
    /// it.
    ///
    /// The lookup of the owner reads a long table of the kernel on a thread that may block. Connections are counted
    /// before the lookup, so that the number of lookups is also limited. Nothing is read from a connection before its
    /// lookup is complete.
    private func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard let client = channel.remoteAddress, let server = channel.localAddress, reserve(\.unidentified) else {
            return channel.close()
        }
        let user = NIOThreadPool.singleton.runIfActive(eventLoop: channel.eventLoop) { [owner] in
            owner(client, server)
        }
        return user.flatMapThrowing { user in
            self.state.withLock { $0.unidentified -= 1 }
            guard user == geteuid(), self.reserve(\.connections) else { return channel.close(promise: nil) }
            channel.closeFuture.whenComplete { _ in self.state.withLock { $0.connections -= 1 } }
            try self.configurePipeline(of: channel)
        }
    }

    /// Counts a connection; returns `false` if there are too many.
    private func reserve(_ count: WritableKeyPath<State, Int>) -> Bool {
        state.withLock { state in
            guard !state.isEnded, state.connections < limits.connections, state[keyPath: count] < limits.connections
            else { return false }
            state[keyPath: count] += 1
            return true
        }
    }

    private func configurePipeline(of channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(InboundByteLimit(bytes: limits.requestBytes))
        // NIO's pipelining and error handlers are not used. They treat a response before the end of the request as a
        // programming error, and each connection has only one response.
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: false)
        try pipeline.addHandler(PageHandler(self, timeout: limits.requestTimeout))
    }

    /// Returns the reply to a request.
    func reply(to head: HTTPRequestHead) -> PageReply {
        let reply = state.withLock { $0.responder.reply(to: head, streams: $0.streams.count) }
        if case .tokenReused = reply { abandon(.openedTwice) }
        return reply
    }

    /// Adds an event stream and sends it the newest state.
    func addStream(_ channel: any Channel) {
        state.withLock { state in
            guard !state.isEnded else { return channel.eventLoop.execute { channel.close(promise: nil) } }
            state.streams[ObjectIdentifier(channel)] = channel
            Self.send(ByteBuffer(bytes: state.progress.message(at: .now)), to: channel)
        }
    }

    /// Removes an event stream; if no stream remains and none is opened in time, the page counts as closed.
    func removeStream(_ channel: any Channel) {
        let departure = state.withLock { state -> Int? in
            guard state.streams.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return nil }
            state.departures += 1
            return state.departures
        }
        guard let departure else { return }
        channel.eventLoop.scheduleTask(in: limits.reconnectTimeout) {
            // If another stream has ended since, its own timer decides.
            let isClosed = self.state.withLock { !$0.isEnded && $0.streams.isEmpty && $0.departures == departure }
            if isClosed { self.abandon(.closed) }
        }
    }

    private func abandon(_ reason: PageAbandonment) {
        abandoned.yield(reason)
        abandoned.finish()
    }
}

/// Limits of the page's server.
struct PageLimits: Sendable {
    /// The maximum number of connections; additional ones are closed.
    var connections = 16
    /// The maximum number of event streams; each tab has one.
    var streams = 4
    /// The maximum number of bytes that a connection may send.
    ///
    /// Browsers send the cookies of all ports on 127.0.0.1, so requests can be long.
    var requestBytes = 16384
    /// The time limit for a complete request and for reading its response.
    var requestTimeout = TimeAmount.seconds(5)
    /// The time after the last event stream has ended until the page counts as closed.
    var reconnectTimeout = TimeAmount.seconds(3)
    /// The time limit for reading the last event.
    var closeTimeout = TimeAmount.seconds(1)
}

/// A reason why the ceremony must end, reported by the page.
package enum PageAbandonment: Equatable, Sendable {
    /// The page was closed.
    case closed
    /// The token was used a second time, so one of the two was not the browser that this program started.
    case openedTwice
}

/// A reason why the page cannot be served.
package struct PageError: ExplainedFailure, Hashable {
    /// Cause and remedy.
    package let sentence: String
    /// The identifier of the cause, for programs.
    package let code = ExitStatus.unavailable.name
    /// The exit status of a command that ends with this error.
    package let status = ExitStatus.unavailable

    /// No socket could listen on 127.0.0.1.
    package static func noPort(_ reason: String) -> PageError {
        PageError(sentence: "no page can be served on 127.0.0.1: \(reason); try again without --open")
    }

    /// The system does not list the owners of sockets, so other users of this computer could open the page.
    package static let ownersUnknown = PageError(
        sentence:
            "/proc/net/tcp can't be read, so other users could open the page; try again without --open"
    )
}
