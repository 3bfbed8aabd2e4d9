// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
package import HybridProgram
package import HybridSSHAgent
internal import HybridSecurityKey
internal import HybridThreads

/// A request for a signature by a client of the agent.
package struct SigningJob: Sendable {
    /// The request.
    package let request: SignRequest
    /// The client.
    package let client: PeerCredentials
    /// Becomes active when the client has left.
    package let cancellation: SigningCancellation
    /// Called once with the signature, or the reason why there is none.
    let complete: @Sendable (Result<SSHSignature, AgentRefusal>) -> Void

    /// True if the request may be that of another host, or of a sandboxed program.
    ///
    /// The origin of a login is unknown if the client has not bound the connection to its session.
    var isForGuest: Bool {
        if case .login(_, nil, _) = request.purpose { return true }
        return request.isForwarded || client.isSandboxed
    }
}

/// An order to stop, for work that blocks.
package final class SigningCancellation: Sendable {
    private let waker: Waker

    /// Creates an inactive instance; returns `nil` if the process has no descriptors left.
    package init?() {
        guard let waker = Waker() else { return nil }
        self.waker = waker
    }

    /// A descriptor that is readable once the work must stop.
    package var descriptor: CInt { waker.descriptor }

    /// Orders the work to stop.
    package func cancel() { waker.wake() }
}

/// A service that performs requests one after another, each on a thread of its own.
///
/// Prompts that do not lead to a signature are limited, so that no program can wear the user down. Requests of other
/// hosts have a limit of their own, so that they do not block this computer.
package final class SigningService: Sendable {
    typealias ID = SigningQueue<SigningJob>.ID

    private let queue = Locked(SigningQueue<SigningJob>())
    /// The limits by ``SignRequest/isForwarded``.
    private let limits = Locked<[Bool: WindowLimit]>([:])
    private let clock: @Sendable () -> Duration
    private let perform: Perform

    /// A closure that returns the signature for a request, or the reason why there is none.
    ///
    /// It may block until the user has answered.
    package typealias Perform = @Sendable (SigningJob) -> Result<SSHSignature, AgentRefusal>

    /// Creates a service.
    package convenience init(perform: @escaping Perform) {
        let start = ContinuousClock.now
        self.init(clock: { ContinuousClock.now - start }, perform: perform)
    }

    init(clock: @escaping @Sendable () -> Duration, perform: @escaping Perform) {
        self.clock = clock
        self.perform = perform
    }

    /// Adds a request.
    ///
    /// - Returns: The identifier, or `nil` if too many requests wait; then the job is not completed.
    func submit(_ job: SigningJob) -> ID? {
        switch queue.withLock({ $0.add(job, isForwarded: job.request.isForwarded, at: .now) }) {
        case .started(let id):
            start(id, job)
            return id
        case .waiting(let id): return id
        case .refused: return nil
        }
    }

    /// Removes a request whose client has left.
    func withdraw(_ id: ID) { queue.withLock { $0.withdraw(id) }?.cancellation.cancel() }

    /// Removes a request that has waited too long; returns false if it does not wait.
    ///
    /// The removed job is not completed.
    func expire(_ id: ID) -> Bool { queue.withLock { $0.expire(id) } }

    private func start(_ id: ID, _ job: SigningJob) {
        let isStarted = DedicatedThread.start { [self] in
            job.complete(result(of: job))
            finish(id)
        }
        guard !isStarted else { return }
        job.complete(.failure(.notSigned))
        finish(id)
    }

    private func result(of job: SigningJob) -> Result<SSHSignature, AgentRefusal> {
        let (isForwarded, now) = (job.request.isForwarded, clock())
        let mayOpen = limits.withLock { $0[isForwarded, default: WindowLimit()].open(at: now) }
        guard mayOpen else { return .failure(.tooManyPrompts) }
        let result = perform(job)
        switch result {
        // No prompt was open.
        case .success, .failure(.sessionLocked): limits.withLock { $0[isForwarded]?.forgetLast() }
        case .failure: break
        }
        return result
    }

    private func finish(_ id: ID) {
        let (expired, next) = queue.withLock { $0.finish(id, at: .now) }
        for job in expired { job.complete(.failure(.notSigned)) }
        if let next { start(next.id, next.element) }
    }
}
