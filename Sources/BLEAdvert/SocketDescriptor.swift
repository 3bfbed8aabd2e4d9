// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// An owned socket descriptor, which is closed once, after its last use.
final class SocketDescriptor: Sendable {
    private struct State {
        var number: CInt?
        var users = 0
        var isClosed = false
    }

    private let state: Locked<State>

    /// Creates an instance that takes ownership of a descriptor.
    init(_ number: CInt) { state = Locked(State(number: number)) }

    deinit { close() }

    /// Runs `body` with the descriptor, which remains open during the call.
    ///
    /// - Throws: ``L2CAPError`` after `close`, and the error that `body` throws.
    func use<Result>(_ body: (CInt) async throws -> Result) async throws -> Result {
        let number = state.withLock { state -> CInt? in
            guard !state.isClosed, let number = state.number else { return nil }
            state.users += 1
            return number
        }
        guard let number else { throw L2CAPError.system(EBADF) }
        defer { closeIfUnused { $0.users -= 1 } }
        return try await body(number)
    }

    /// Transfers ownership to the caller.
    ///
    /// - Returns: The descriptor, or `nil` if it is closed, handed over or in use.
    func handOver() -> CInt? {
        state.withLock { state in
            guard !state.isClosed, state.users == 0 else { return nil }
            defer { state.number = nil }
            return state.number
        }
    }

    /// Closes the descriptor immediately, or when its last use ends.
    ///
    /// This method is idempotent.
    func close() { closeIfUnused { $0.isClosed = true } }

    private func closeIfUnused(_ change: (inout State) -> Void) {
        let number = state.withLock { state -> CInt? in
            change(&state)
            guard state.isClosed, state.users == 0 else { return nil }
            defer { state.number = nil }
            return state.number
        }
        if let number { _ = Glibc.close(number) }
    }

    // MARK: - Waiting

    /// The event to wait for.
    enum Event {
        case readable
        case writable

        fileprivate var bits: CShort { CShort(self == .readable ? POLLIN : POLLOUT) }
    }

    /// The result of a wait.
    enum Wait {
        case ready
        case timedOut
        /// The task was canceled, or there are no descriptors or threads left.
        case abandoned
    }

    /// Waits on a dedicated thread until the socket is ready, for at most `limit`.
    static func wait(for event: Event, on number: CInt, atMost limit: Duration) async -> Wait {
        guard let waker = Waker() else { return .abandoned }
        return await withTaskCancellationHandler {
            await DedicatedThread.run(otherwise: .abandoned) {
                let deadline = ContinuousClock.now + limit
                while true {
                    let left = max(.zero, ContinuousClock.now.duration(to: deadline))
                    // Rounded up, so that the deadline has passed when poll returns.
                    let milliseconds = CInt(min(left / .milliseconds(1) + 1, 3_600_000))
                    var descriptors = [
                        pollfd(fd: number, events: event.bits, revents: 0),
                        pollfd(fd: waker.descriptor, events: CShort(POLLIN), revents: 0),
                    ]
                    let count = poll(&descriptors, nfds_t(descriptors.count), left == .zero ? 0 : milliseconds)
                    if descriptors[1].revents != 0 { return .abandoned }
                    if count > 0 { return .ready }
                    if left == .zero { return .timedOut }
                }
            }
        } onCancel: {
            waker.wake()
        }
    }
}
