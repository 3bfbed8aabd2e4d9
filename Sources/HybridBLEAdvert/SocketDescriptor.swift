// SPDX-License-Identifier: Apache-2.0

private import CHybridBluetooth
private import Glibc
internal import HybridSystemBus
internal import HybridThreads

/// A socket's number, closed once, when nobody uses it any more.
final class SocketDescriptor: Sendable {
    private struct State {
        var number: CInt?
        var users = 0
        var isClosed = false
    }

    private let state: Locked<State>

    /// Takes the number over.
    init(_ number: CInt) { state = Locked(State(number: number)) }

    deinit { close() }

    /// Runs `body` with the number, which stays good as long; `nil` after `close`.
    func use<Result>(_ body: (CInt) async throws -> Result) async rethrows -> Result? {
        let number = state.withLock { state -> CInt? in
            guard !state.isClosed, let number = state.number else { return nil }
            state.users += 1
            return number
        }
        guard let number else { return nil }
        defer { closeIfUnused { $0.users -= 1 } }
        return try await body(number)
    }

    /// Gives the number away; the taker closes it.
    ///
    /// - Returns: `nil` if it is closed, given away or in use.
    func handOver() -> CInt? {
        state.withLock { state in
            guard !state.isClosed, state.users == 0 else { return nil }
            defer { state.number = nil }
            return state.number
        }
    }

    /// Closes it, at once or when its last use ends; again is harmless.
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

    /// What the kernel must say of a socket.
    enum Event {
        case readable
        case writable

        fileprivate var bits: CShort { CShort(self == .readable ? POLLIN : POLLOUT) }
    }

    /// How a wait ended.
    enum Wait {
        case ready
        case timedOut
        /// The task was cancelled, or there are no descriptors or threads left.
        case abandoned
    }

    /// Waits on a thread of its own until the socket is ready, for at most `limit`.
    static func wait(for event: Event, on number: CInt, atMost limit: Duration) async -> Wait {
        guard let alarm = Alarm() else { return .abandoned }
        return await withTaskCancellationHandler {
            await DedicatedThread.run(otherwise: .abandoned) {
                let deadline = ContinuousClock.now + limit
                while true {
                    let left = max(.zero, ContinuousClock.now.duration(to: deadline))
                    // Rounded up, so that the deadline has passed when poll returns.
                    let milliseconds = CInt(min(left / .milliseconds(1) + 1, 3_600_000))
                    var descriptors = [
                        pollfd(fd: number, events: event.bits, revents: 0),
                        pollfd(fd: alarm.descriptor, events: CShort(POLLIN), revents: 0),
                    ]
                    let count = poll(&descriptors, nfds_t(descriptors.count), left == .zero ? 0 : milliseconds)
                    if descriptors[1].revents != 0 { return .abandoned }
                    if count > 0 { return .ready }
                    if left == .zero { return .timedOut }
                }
            }
        } onCancel: {
            alarm.ring()
        }
    }
}

/// Ends a wait in another thread: one of two connected sockets, which becomes readable for good.
private final class Alarm: Sendable {
    let descriptor: CInt
    private let other: CInt

    /// `nil` when there are no descriptors left.
    init?() {
        var pair: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { return nil }
        (descriptor, other) = (pair[0], pair[1])
    }

    deinit {
        close(descriptor)
        close(other)
    }

    func ring() { shutdown(other, CInt(SHUT_RDWR)) }
}
