// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridThreads

/// A connection of a client to the agent, served by one thread.
final class AgentConnectionHandler {
    /// Time for a client to read an answer.
    private static let sendTimeout = 10
    /// POLLRDHUP of poll(2), which Swift's module of the C library lacks.
    private static let halfClosed = Int16(0x2000)

    private let socket: CInt
    private let client: PeerCredentials
    private let keys: SSHKeyRing
    private let signing: SigningService
    /// The service for websites on other hosts, if this socket serves them.
    private let remote: RemoteSignInService?
    private let refused: @Sendable (String) -> Void
    /// Counts this connection as one through a host; returns false if there are too many.
    private let forward: (SSHFingerprint) -> Bool
    /// The host through which this connection is counted as forwarded.
    private(set) var host: SSHFingerprint?
    private var connection: AgentConnection
    /// The other agent and the requests that may be for it.
    private let upstream: UpstreamAgent?
    private var frames = UpstreamFrames()
    /// The identifier of the pending signature in the queue.
    private var pending: SigningService.ID?
    /// Ends the pending request of a website.
    private var remoteCancellation: SigningCancellation?
    private var hasNotedSession = false
    /// The request with the pending signature, and the time until which it may wait for others.
    private var waiting: (request: SignRequest.ID, end: ContinuousClock.Instant)?
    private let completed = Locked<Completed?>(nil)
    private let waker: Waker

    /// The result of a pending request.
    private enum Completed: Sendable {
        case signature(SignRequest.ID, Result<SSHSignature, AgentRefusal>)
        case remote(SignRequest.ID, RemoteAnswer)
    }

    /// Creates a connection; returns `nil` if the process has no descriptors left.
    init?(
        _ socket: CInt,
        _ client: PeerCredentials,
        _ keys: SSHKeyRing,
        _ signing: SigningService,
        _ remote: RemoteSignInService?,
        _ upstream: String?,
        _ connection: AgentConnection,
        _ refused: @escaping @Sendable (String) -> Void,
        forward: @escaping (SSHFingerprint) -> Bool
    ) {
        guard let waker = Waker() else { return nil }
        self.socket = socket
        self.client = client
        self.keys = keys
        self.signing = signing
        self.remote = remote
        self.upstream = upstream.map(UpstreamAgent.init(path:))
        (self.refused, self.forward) = (refused, forward)
        self.connection = connection
        self.waker = waker
        var timeout = timeval(tv_sec: Self.sendTimeout, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Answers requests until the client leaves or violates the protocol; a pending request is then withdrawn.
    func serve() {
        while waitForInput(), takeResult(), receive(), answerRequests(), hasPlace() {}
        _ = connection.close()
        if let pending { signing.withdraw(pending) }
        remoteCancellation?.cancel()
    }

    /// Returns false if the connection is forwarded, and there are too many of them.
    private func hasPlace() -> Bool {
        guard host == nil, let origin = connection.forwardingHost else { return true }
        guard forward(origin) else {
            refused("too many connections through a forwarded agent; other hosts get half of the places")
            return false
        }
        host = origin
        return true
    }

    /// Waits for bytes, a signature, or the end of the connection.
    private func waitForInput() -> Bool {
        // Without capacity, only the end of the connection is of interest. A client that ends only its own direction has
        // left, too: sshd passes no more than that.
        let events = capacity > 0 ? Int16(POLLIN) : 0
        var polled = [
            pollfd(fd: socket, events: events | Self.halfClosed, revents: 0),
            pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let rest = waiting.map { max(0, Int(($0.end - ContinuousClock.now) / .milliseconds(1)) + 1) } ?? -1
            let count = poll(&polled, nfds_t(polled.count), CInt(clamping: rest))
            if count == 0 { return endWaiting() }
            if count > 0 { return events != 0 || polled[0].revents == 0 }
            guard errno == EINTR else { return false }
        }
    }

    /// Refuses the pending request if others are still before it.
    private func endWaiting() -> Bool {
        defer { waiting = nil }
        guard let waiting, let pending, signing.expire(pending) else { return true }
        self.pending = nil
        return connection.complete(waiting.request, with: nil).map { send($0) } ?? true
    }

    private var capacity: Int { upstream == nil ? connection.capacity : frames.capacity }

    /// Sends the answer to a completed request, if there is one.
    private func takeResult() -> Bool {
        waker.reset()
        guard let done = completed.withLock({ $0.take() }) else { return true }
        (pending, waiting, remoteCancellation) = (nil, nil, nil)
        let reply: AgentReply?
        switch done {
        case .signature(let id, .success(let signature)): reply = connection.complete(id, with: signature)
        case .signature(let id, .failure(let refusal)): reply = connection.complete(id, with: nil, otherwise: refusal)
        case .remote(let id, let answer): reply = connection.complete(id, with: answer)
        }
        return reply.map { send($0) } ?? true
    }

    private func receive() -> Bool {
        var chunk = [UInt8](repeating: 0, count: min(capacity, 16384))
        guard !chunk.isEmpty else { return true }
        let count = recv(socket, &chunk, chunk.count, CInt(MSG_DONTWAIT))
        if count < 0 { return errno == EINTR || errno == EAGAIN }
        guard count > 0 else { return false }
        defer { SecretBytes.wipe(&chunk) }
        guard upstream == nil else {
            frames.append(chunk[..<count])
            return true
        }
        return pass(chunk[..<count])
    }

    /// Passes bytes to this agent; returns false if they violate the protocol.
    private func pass(_ bytes: some Collection<UInt8>) -> Bool {
        do throws(AgentProtocolError) {
            try connection.receive(bytes)
            return true
        } catch {
            return false
        }
    }

    private func answerRequests() -> Bool {
        keys.refresh()
        guard let upstream else { return answerOwnRequests() }
        while pending == nil, remoteCancellation == nil, var message = frames.next() {
            defer { SecretBytes.wipe(&message) }
            let (isLocked, ownKeys) = keys.withAgent { ($0.lock.isLocked, $0.keys.map(\.publicKey.encoded)) }
            let destination = UpstreamFrames.destination(of: message, isOwn: ownKeys.contains)
            // A locked agent hides the keys of both; its own part refuses what the other one would answer.
            if destination == .upstream, !isLocked {
                let answer = upstream.ask(message, for: socket) ?? [0, 0, 0, 1, 5]
                guard UpstreamBytes.send(answer, to: socket) else { return false }
                continue
            }
            // A binding is passed on while the agent is locked, too: otherwise the other one would take this connection
            // for a local one after it is unlocked.
            let forwarding = isLocked && destination != .binding ? .own : destination
            guard pass(message), answerOwnRequests(forwarding: forwarding, message) else { return false }
        }
        return true
    }

    /// Answers the requests that this agent has received.
    ///
    /// - Parameters:
    ///   - destination: The destination of the request.
    ///   - message: The request, if the other agent receives it, too.
    private func answerOwnRequests(
        forwarding destination: UpstreamFrames.Destination = .own,
        _ message: [UInt8] = []
    ) -> Bool {
        while true {
            let action: AgentConnection.Action?
            do throws(AgentProtocolError) {
                action = try keys.withAgent { (state) throws(AgentProtocolError) in
                    try connection.next(&state, at: .now)
                }
            } catch {
                return false
            }
            switch action {
            case nil: return true
            case .reply(let reply):
                guard send(reply, extended(reply.bytes, destination, message)) else { return false }
            case .sign(let request):
                guard start(request) else { return false }
            case .remote(let request):
                guard start(request) else { return false }
            }
            noteSession()
        }
    }

    /// Records the first session, before a request of it is answered.
    private func noteSession() {
        guard !hasNotedSession, let session = connection.firstSession else { return }
        remote?.note(session, of: client)
        hasNotedSession = true
    }

    /// Passes a request on; if that fails, refuses it.
    private func start(_ request: SignRequest) -> Bool {
        if let cancellation = SigningCancellation() {
            let job = SigningJob(request: request, client: client, cancellation: cancellation) {
                [completed, waker] result in
                completed.withLock { $0 = .signature(request.id, result) }
                waker.wake()
            }
            pending = signing.submit(job)
            waiting = (request.id, ContinuousClock.now + SigningQueue<SigningJob>.patience)
            if pending != nil { return true }
            waiting = nil
        }
        return connection.complete(request.id, with: nil).map { send($0) } ?? true
    }

    /// Passes a request of a website on; if that fails, refuses it.
    private func start(_ request: RemoteRequest) -> Bool {
        if let remote, let cancellation = SigningCancellation() {
            let job = RemoteSignInService.Job(request: request, client: client, cancellation: cancellation)
            remoteCancellation = cancellation
            let isStarted = remote.submit(job) { [completed, waker] answer in
                completed.withLock { $0 = .remote(request.id, answer) }
                waker.wake()
            }
            if isStarted { return true }
            remoteCancellation = nil
        }
        let answer = RemoteAnswer.failure(.init(.refused))
        return connection.complete(request.id, with: answer).map { send($0) } ?? true
    }

    /// Returns an answer with that of the other agent, which learns each binding.
    private func extended(_ own: [UInt8], _ destination: UpstreamFrames.Destination, _ message: [UInt8]) -> [UInt8] {
        switch destination {
        case .both: return UpstreamFrames.merged(own, upstream?.ask(message, for: socket))
        case .binding:
            // Otherwise the other agent would take this connection for a local one.
            if !UpstreamFrames.isBound(own, upstream?.ask(message, for: socket)) { upstream?.close() }
            return own
        case .own, .upstream: return own
        }
    }

    private func send(_ reply: AgentReply, _ bytes: [UInt8]? = nil) -> Bool {
        if let refusal = reply.refusal { refused("\(refusal.explanation) (\(refusal))") }
        if reply.delay > .zero { usleep(UInt32(clamping: Int(reply.delay / .microseconds(1)))) }
        return UpstreamBytes.send(bytes ?? reply.bytes, to: socket)
    }
}
