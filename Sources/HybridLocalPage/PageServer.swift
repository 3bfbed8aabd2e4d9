// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The QR code and what happens, as a page in a browser on this device.
///
/// ```
/// program                               browser
///    │ starts it with /open/{token} ──→ │
///    │ ←────────── GET /open/{token}    │  once: a second time ends the ceremony
///    │ a cookie, and "go to /" ───────→ │
///    │ ←─────────────────────── GET /   │  as often as somebody reloads
///    │ ←───────────────── GET /events   │
///    │ scan, found, connecting … ─────→ │  each as one event
///    │ done, or what was wrong ───────→ │
/// ```
///
/// Whoever sees the code can answer it with a passkey of their own, so the page is for one user's browser alone: it is
/// served to sockets of that user on 127.0.0.1 (``SocketOwner``), for a token that works once, then for a cookie, and
/// to requests whose Host and Origin are exactly its own (``PageAnswers``). It shows the code only until a phone was
/// found. Requests and answers of websites never come here.
///
/// Each connection may ask one question, in a few seconds and a few thousand bytes. Closing the page is a way to cancel
/// (``PageAbandonment``): it counts three seconds after the last event stream has ended, so that a reload does not.
public final class PageServer: Sendable {
    private struct State {
        var answers: PageAnswers
        var story: PageProgress
        var attendance = PageViewers()
        var streams: [ObjectIdentifier: any Channel] = [:]
        var connections = 0
        /// Connections of which it is not known yet whose they are.
        var strangers = 0
        var isEnded = false
    }

    /// Where a browser finds the page; it holds the token.
    public let address: PageAddress
    /// Why the ceremony must not go on; at most one comes.
    public let abandonments: AsyncStream<PageAbandonment>

    private let state: Locked<State>
    private let listener: any Channel
    private let limits: PageLimits
    private let owner: OwnerLookup
    private let abandoned: AsyncStream<PageAbandonment>.Continuation

    /// Listens on a port of 127.0.0.1 that the system chooses.
    ///
    /// - Throws: ``PageError``.
    public static func start(_ subject: PageSubject, limits: PageLimits = PageLimits()) async throws -> PageServer {
        try await start(subject, limits: limits, owner: SocketOwner.user)
    }

    /// The number of the user whose socket is at the first address, connected to the second; it may take its time.
    typealias OwnerLookup = @Sendable (SocketAddress, SocketAddress) -> UInt32?

    static func start(
        _ subject: PageSubject,
        limits: PageLimits,
        owner: @escaping OwnerLookup
    ) async throws -> PageServer {
        guard SocketOwner.isKnown else { throw PageError.ownersUnknown }
        // The handlers need the server and the server needs the port, which is known once it listens.
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
        let made = PageServer(subject, port: listener.localAddress?.port ?? 0, listener, limits, owner)
        server.withLock { $0 = made }
        listener.closeFuture.whenComplete { _ in server.withLock { $0 = nil } }
        return made
    }

    private init(
        _ subject: PageSubject,
        port: Int,
        _ listener: any Channel,
        _ limits: PageLimits,
        _ owner: @escaping OwnerLookup
    ) {
        let token = PageKey()
        let answers = PageAnswers(port: port, token: token, cookie: PageKey(), mostStreams: limits.streams)
        address = PageAddress(origin: answers.origin, token: token)
        state = Locked(State(answers: answers, story: PageProgress(subject, at: .now)))
        (abandonments, abandoned) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        self.listener = listener
        self.limits = limits
        self.owner = owner
    }

    /// Whether a browser has used the token.
    public var wasOpened: Bool { state.withLock { $0.answers.isTokenUsed } }

    /// Goes to a stage; after the last one nothing changes any more.
    public func show(_ stage: PageStage) { tell { $0.show(stage, at: .now) } }

    /// Puts a warning on the page, whatever the stage.
    public func warn(_ text: String) { tell { $0.warn(text) } }

    /// Shows the last stage, ends all streams once it is on its way, and stops listening.
    public func end(_ last: PageStage) async {
        show(last)
        let streams = state.withLock { state in
            state.isEnded = true
            return Array(state.streams.values)
        }
        abandoned.finish()
        try? await listener.close().get()
        let patience = limits.closeTimeout
        for stream in streams {
            stream.eventLoop.execute {
                stream.writeAndFlush(StreamPart.end).whenComplete { _ in stream.close(promise: nil) }
                stream.eventLoop.scheduleTask(in: patience) { stream.close(promise: nil) }
            }
        }
        for stream in streams { try? await stream.closeFuture.get() }
    }

    private func tell(_ change: (inout PageProgress) -> Bool) {
        state.withLock { state in
            guard change(&state.story) else { return }
            let message = ByteBuffer(bytes: state.story.message(at: .now))
            // Enqueued under the lock, so that messages of several threads come in one order.
            for stream in state.streams.values { Self.send(message, to: stream) }
        }
    }

    /// A reader that takes nothing is hung up on; its browser comes back and gets the newest state.
    private static func send(_ message: ByteBuffer, to stream: any Channel) {
        stream.eventLoop.execute {
            guard stream.isWritable else { return stream.close(promise: nil) }
            stream.writeAndFlush(StreamPart.message(message), promise: nil)
        }
    }
}

// MARK: Connections

extension PageServer {
    /// Lets a connection in if it comes from a socket of this user, and there are not too many; else hangs up.
    ///
    /// Whose it is stands in a long table of the kernel, so first it is counted: there are never more look-ups than
    /// connections are borne. They are made on a thread that may wait. Nothing is read from the connection until then.
    private func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard let client = channel.remoteAddress, let server = channel.localAddress, enter(\.strangers) else {
            return channel.close()
        }
        let user = NIOThreadPool.singleton.runIfActive(eventLoop: channel.eventLoop) { [owner] in
            owner(client, server)
        }
        return user.flatMapThrowing { user in
            self.state.withLock { $0.strangers -= 1 }
            guard user == geteuid(), self.enter(\.connections) else { return channel.close(promise: nil) }
            channel.closeFuture.whenComplete { _ in self.state.withLock { $0.connections -= 1 } }
            try self.equip(channel)
        }
    }

    /// Counts a connection, if there may be one more of that sort.
    private func enter(_ count: WritableKeyPath<State, Int>) -> Bool {
        state.withLock { state in
            guard !state.isEnded, state.connections < limits.connections, state[keyPath: count] < limits.connections
            else { return false }
            state[keyPath: count] += 1
            return true
        }
    }

    private func equip(_ channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(InboundBudget(bytes: limits.requestBytes))
        // Without NIO's help for several requests in a row and for broken ones: it takes an answer before the end of a
        // request for a fault of this program, and here there is one answer to one request.
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: false)
        try pipeline.addHandler(PageHandler(self, patience: limits.patience))
    }

    /// What a request gets.
    func reply(to head: HTTPRequestHead) -> PageReply {
        let reply = state.withLock { $0.answers.reply(to: head, streams: $0.streams.count) }
        if case .openedAgain = reply { abandon(.openedTwice) }
        return reply
    }

    /// A stream has begun; it gets the newest state.
    func join(_ channel: any Channel) {
        state.withLock { state in
            guard !state.isEnded else { return channel.eventLoop.execute { channel.close(promise: nil) } }
            state.attendance.join()
            state.streams[ObjectIdentifier(channel)] = channel
            Self.send(ByteBuffer(bytes: state.story.message(at: .now)), to: channel)
        }
    }

    /// A stream has ended; if it was the last and none follows, the page is closed.
    func leave(_ channel: any Channel) {
        let departure = state.withLock { state -> PageViewers.Departure? in
            guard state.streams.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return nil }
            return state.attendance.leave()
        }
        guard let departure else { return }
        channel.eventLoop.scheduleTask(in: limits.absence) {
            let isGone = self.state.withLock { !$0.isEnded && $0.attendance.isStillEmpty(since: departure) }
            if isGone { self.abandon(.closed) }
        }
    }

    private func abandon(_ reason: PageAbandonment) {
        abandoned.yield(reason)
        abandoned.finish()
    }
}
