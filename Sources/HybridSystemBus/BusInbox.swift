// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd
private import Glibc
internal import HybridThreads

/// What a message is addressed to; without a destination it is a signal.
struct BusTarget: Sendable {
    let destination: String?
    let path: String
    let interface: String
    let member: String
}

/// Lets a cancellation overtake the call it belongs to on the way to the thread.
final class CallToken: Sendable {
    private let cancelled = Locked(false)

    func cancel() {
        cancelled.withLock { $0 = true }
    }

    var isCancelled: Bool {
        cancelled.withLock { $0 }
    }
}

/// A call on its way out, or waiting for its answer.
struct PendingCall: Sendable {
    let target: BusTarget
    let arguments: [BusValue]
    /// What of the answer is read.
    let selection: BusSelection
    /// In microseconds of the monotonic clock.
    let deadline: UInt64
    let ticket: CallToken
    let continuation: CheckedContinuation<Result<[BusValue], BusError>, Never>
}

/// How tasks reach the connection's thread: a queue, and an eventfd that wakes the thread.
final class BusInbox: Sendable {
    enum Command: Sendable {
        case call(PendingCall)
        case cancel(CallToken)
        case reply(BusMessage.Ticket, BusReply)
        case emit(BusTarget, [BusValue])
        case close
    }

    private struct State {
        var isOpen = true
        var commands: [Command] = []
        var observers: [Int: @Sendable (BusConnection.Event) -> Void] = [:]
        var nextObserver = 0
    }

    private let state = Locked(State())
    /// Readable while commands wait; closed with the inbox.
    let wake: CInt
    /// Set when the thread has let go of everything.
    let ended = OneShot<Bool>()

    init?() {
        wake = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wake >= 0 else { return nil }
    }

    /// Hands a command to the thread; a call to an ended connection fails at once.
    func post(_ command: Command) {
        let accepted = state.withLock { state in
            guard state.isOpen else { return false }
            state.commands.append(command)
            eventfd_write(wake, 1)
            return true
        }
        if !accepted, case .call(let call) = command {
            call.continuation.resume(returning: .failure(call.ticket.isCancelled ? .cancelled : .disconnected))
        }
    }

    /// All commands that wait.
    func take() -> [Command] {
        state.withLock { state in
            var count: eventfd_t = 0
            eventfd_read(wake, &count)
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Refuses commands from here on, closes the eventfd and returns what was still waiting.
    func shut() -> [Command] {
        state.withLock { state in
            guard state.isOpen else { return [] }
            state.isOpen = false
            Glibc.close(wake)
            defer { state.commands = [] }
            return state.commands
        }
    }

    func addObserver(_ observer: @escaping @Sendable (BusConnection.Event) -> Void) -> Int {
        state.withLock { state in
            state.nextObserver += 1
            state.observers[state.nextObserver] = observer
            return state.nextObserver
        }
    }

    func removeObserver(_ number: Int) {
        _ = state.withLock { $0.observers.removeValue(forKey: number) }
    }

    var observers: [@Sendable (BusConnection.Event) -> Void] {
        state.withLock { Array($0.observers.values) }
    }
}
