// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc
internal import HybridThreads
internal import NIOCore

/// An instruction to an event loop from another thread.
enum LoopMessage: Sendable {
    /// Accept connections from a listening socket.
    case addSocket(CInt)
    /// Accept connections from the listening sockets, or leave that to the other event loops.
    case accept(Bool)
    /// Accept no further connections, and resume the caller.
    case removeSockets(CheckedContinuation<Void, Never>)
    /// Continue a connection that another event loop has handed over.
    case receive(ConnectionInTransit)
    /// Close the connection that is one end of a tunnel, or refuse its request if that is held.
    case closeTunnel(ConnectionID, CloseCode?, UpgradeRefusal?)
    /// Give a connection an order of the contact table.
    case contact(ConnectionID, ContactInstruction)
    /// Give a phone's connection the result of the message for the contact ID that it requested.
    case proofPushed(ConnectionID, number: Int, PushOutcome)
    /// Close the phones that listen and refuse the requests that are held.
    case drain
    /// Close all connections, those that are open after `grace` without a closing handshake, and resume the caller.
    case close(grace: TimeAmount, CheckedContinuation<Void, Never>)
    /// Close what is left, resume the caller and end the thread.
    case stop(CheckedContinuation<Void, Never>)
}

/// The messages for one event loop, and the descriptors on which it waits.
final class LoopMailbox: Sendable {
    private struct State {
        var messages: [LoopMessage] = []
        var isClosed = false
    }

    /// The epoll instance of the event loop.
    let epoll: CInt
    /// The event number of the mailbox; no connection has it.
    static let event = UInt64.max
    private let wakeup: CInt
    private let state = Locked(State())
    /// Time of the last sweep, for the health check.
    private let lastSweepTime = Locked(NIODeadline.now())
    private let received = Locked(0)

    /// Creates a mailbox.
    ///
    /// - Throws: `IOError` if the process has no descriptors or memory left.
    init() throws(IOError) {
        let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw IOError(errnoCode: errno, reason: "epoll_create1") }
        let wakeup = eventfd(0, CInt(EFD_NONBLOCK) | CInt(EFD_CLOEXEC))
        guard wakeup >= 0, hybrid_epoll_control(epoll, EPOLL_CTL_ADD, wakeup, EPOLLIN.rawValue, Self.event) == 0 else {
            let error = IOError(errnoCode: errno, reason: "eventfd")
            if wakeup >= 0 { close(wakeup) }
            close(epoll)
            throw error
        }
        (self.epoll, self.wakeup) = (epoll, wakeup)
    }

    deinit {
        close(wakeup)
        close(epoll)
    }

    /// Adds a message and wakes the event loop.
    ///
    /// - Returns: False if the event loop has stopped. In that case, the message is not delivered.
    @discardableResult
    func post(_ message: LoopMessage) -> Bool {
        let wasEmpty = state.withLock { state -> Bool? in
            guard !state.isClosed else { return nil }
            state.messages.append(message)
            return state.messages.count == 1
        }
        guard let wasEmpty else { return false }
        if wasEmpty {
            var one: UInt64 = 1
            // This cannot fail: the counter is reset whenever the messages are taken.
            _ = write(wakeup, &one, MemoryLayout<UInt64>.size)
        }
        return true
    }

    /// Adds a message that resumes the caller, and waits for that; returns at once if the event loop has stopped.
    func post(_ message: (CheckedContinuation<Void, Never>) -> LoopMessage) async {
        await withCheckedContinuation { continuation in
            if !post(message(continuation)) { continuation.resume() }
        }
    }

    /// Returns all messages in order; called by the event loop.
    func take() -> [LoopMessage] {
        var count: UInt64 = 0
        // The counter comes first, so that a message which arrives in between wakes the loop again.
        _ = read(wakeup, &count, MemoryLayout<UInt64>.size)
        return state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Refuses messages from now on and returns the last ones.
    func closeAndTake() -> [LoopMessage] {
        state.withLock { state in
            defer { state = State(isClosed: true) }
            return state.messages
        }
    }

    /// Time of the event loop's last sweep.
    var lastSweep: NIODeadline { lastSweepTime.withLock { $0 } }

    /// Records a sweep.
    func recordSweep(at time: NIODeadline) { lastSweepTime.withLock { $0 = time } }

    /// Number of connections that the event loop has taken over from others.
    var handOffs: Int { received.withLock { $0 } }

    /// Counts a connection that was taken over.
    func countHandOff() { received.withLock { $0 += 1 } }
}
