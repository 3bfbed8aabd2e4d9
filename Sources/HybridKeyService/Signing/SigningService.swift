// SPDX-License-Identifier: Apache-2.0

package import HybridSSHAgent
internal import HybridThreads

/// A request for a signature by a client of the agent.
package struct SigningJob: Sendable {
    /// The request.
    package let request: SignRequest
    /// The client.
    package let client: PeerCredentials
    /// Becomes active when the client has left.
    package let cancellation: Cancellation
    /// Called once with the signature, or `nil` if there is none.
    let complete: @Sendable (SSHSignature?) -> Void
}

/// An order to stop, for work that blocks.
package final class Cancellation: Sendable {
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
package final class SigningService: Sendable {
    typealias ID = SigningQueue<SigningJob>.ID

    private let queue = Locked(SigningQueue<SigningJob>())
    private let perform: @Sendable (SigningJob) -> SSHSignature?

    /// Creates a service.
    ///
    /// - Parameter perform: Returns the signature for a request, or `nil`. It may block until the user has answered.
    package init(perform: @escaping @Sendable (SigningJob) -> SSHSignature?) { self.perform = perform }

    /// Adds a request.
    ///
    /// - Returns: The identifier, or `nil` if too many requests wait; then the job is not completed.
    func submit(_ job: SigningJob) -> ID? {
        switch queue.withLock({ $0.add(job, at: .now) }) {
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
            job.complete(perform(job))
            finish(id)
        }
        guard !isStarted else { return }
        job.complete(nil)
        finish(id)
    }

    private func finish(_ id: ID) {
        let (expired, next) = queue.withLock { $0.finish(id, at: .now) }
        for job in expired { job.complete(nil) }
        if let next { start(next.id, next.element) }
    }
}
