// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd
private import Glibc
internal import HybridThreads

/// The target of an outgoing message.
///
/// Without a destination, the message is a signal.
struct BusTarget: Sendable {
    let destination: String?
    let path: String
    let interface: String
    let member: String
}

/// The cancellation of a call, which also identifies the call.
///
/// A call can be canceled before its command reaches the thread.
typealias CallCancellation = OneShot<Void>

/// A call that waits to be sent or waits for its reply.
struct PendingCall: Sendable {
    let target: BusTarget
    let arguments: [BusValue]
    /// The dictionary entries to read from the reply.
    let selection: BusSelection
    /// The deadline on the monotonic clock, in microseconds.
    let deadline: UInt64
    let cancellation: CallCancellation
    let continuation: CheckedContinuation<Result<[BusValue], BusError>, Never>
}

/// The queue in which tasks place commands for the connection's thread; an eventfd wakes the thread.
final class BusInbox: Sendable {
    enum Command: Sendable {
        case call(PendingCall)
        case cancel(CallCancellation)
        case reply(to: UInt64, BusReply)
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
    /// The eventfd, which is readable while commands wait and is closed together with the inbox.
    let descriptor: CInt
    /// Set when the thread has released all resources.
    let ended = OneShot<Bool>()

    init?() {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
    }

    /// Passes a command to the thread.
    ///
    /// A call fails immediately if the connection has ended.
    func post(_ command: Command) {
        let accepted = state.withLock { state in
            guard state.isOpen else { return false }
            state.commands.append(command)
            eventfd_write(descriptor, 1)
            return true
        }
        if !accepted, case .call(let call) = command {
            let isCancelled = call.cancellation.current != nil
            call.continuation.resume(returning: .failure(isCancelled ? .cancelled : .disconnected))
        }
    }

    /// Removes and returns all waiting commands.
    func takeCommands() -> [Command] {
        state.withLock { state in
            var count: eventfd_t = 0
            eventfd_read(descriptor, &count)
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Stops accepting commands, closes the eventfd and returns the commands that are still waiting.
    func close() -> [Command] {
        state.withLock { state in
            guard state.isOpen else { return [] }
            state.isOpen = false
            Glibc.close(descriptor)
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
