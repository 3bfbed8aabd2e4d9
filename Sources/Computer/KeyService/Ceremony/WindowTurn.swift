// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads

/// The turn of the one request that may have a window; others wait in the order of their arrival.
///
/// SSH and the security key share it, so that the user has one question at a time.
final class WindowTurn: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [Waker] = []
    }

    private let state = Locked(State())

    /// A turn that was taken; it ends with ``give()``, or with its last reference.
    final class Taken: Sendable {
        private let turn: WindowTurn
        private let isGiven = Locked(false)

        fileprivate init(_ turn: WindowTurn) { self.turn = turn }

        deinit { give() }

        /// Ends the turn; does nothing the second time.
        func give() {
            let isFirst = isGiven.withLock { isGiven in
                defer { isGiven = true }
                return !isGiven
            }
            if isFirst { turn.give() }
        }
    }

    /// The result of waiting for the turn.
    enum Admission {
        case taken(Taken)
        /// The client has left.
        case withdrawn
        /// The time limit has passed.
        case timedOut
    }

    /// Waits for the turn.
    ///
    /// - Parameters:
    ///   - cancellation: Becomes active when the client has left.
    ///   - limit: The time limit; `nil` for none.
    func take(unless cancellation: SigningCancellation?, within limit: Duration?) -> Admission {
        let isFree = state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
        if isFree { return .taken(Taken(self)) }
        guard let waker = Waker() else { return .timedOut }
        let isFreeNow = state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return true
            }
            state.waiting.append(waker)
            return false
        }
        if isFreeNow { return .taken(Taken(self)) }
        let ending = Self.wait(for: waker, cancellation, until: limit.map { .now + $0 })
        let isTurn = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === waker }) else { return true }
            state.waiting.remove(at: index)
            return false
        }
        // Otherwise the turn ends with this reference.
        let taken = isTurn ? Taken(self) : nil
        switch ending {
        case .ready: return taken.map(Admission.taken) ?? .timedOut
        case .withdrawn: return .withdrawn
        case .timedOut: return .timedOut
        }
    }

    private enum Ending {
        case ready
        case withdrawn
        case timedOut
    }

    private static func wait(
        for waker: Waker,
        _ cancellation: SigningCancellation?,
        until end: ContinuousClock.Instant?
    ) -> Ending {
        var polled = [waker.descriptor, cancellation?.descriptor ?? -1].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        while true {
            let rest = end.map { max(0, Int(($0 - ContinuousClock.now) / .milliseconds(1)) + 1) } ?? -1
            let count = poll(&polled, nfds_t(polled.count), CInt(clamping: rest))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return .timedOut }
            return polled[1].revents != 0 ? .withdrawn : .ready
        }
    }

    private func give() {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return
            }
            state.waiting.removeFirst().wake()
        }
    }
}
