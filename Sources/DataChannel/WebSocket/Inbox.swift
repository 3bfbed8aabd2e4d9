// SPDX-License-Identifier: Apache-2.0

internal import NIOConcurrencyHelpers

/// Messages between the task that reads the socket and the one that waits for them.
///
/// A few may lie here unread, so that the end of the connection behind them is noticed while the user is still
/// being asked; then the reader waits, and the socket with it.
final class Inbox: Sendable {
    private struct State {
        var messages: [WireMessage] = []
        var end: TunnelError?
        var receiver: CheckedContinuation<WireMessage, any Error>?
        var reader: CheckedContinuation<Void, Never>?
        var onEnd: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
        var readerCancelled = false
    }

    private let state = NIOLockedValueBox(State())
    private let capacity: Int

    init(capacity: Int = 4) { self.capacity = capacity }

    /// Puts a message in; waits while the box is full.
    func deliver(_ message: WireMessage) async {
        let (receiver, isFull) = state.withLockedValue { state in
            if let receiver = state.receiver {
                state.receiver = nil
                return (receiver as CheckedContinuation<WireMessage, any Error>?, false)
            }
            state.messages.append(message)
            return (nil, state.messages.count >= capacity)
        }
        receiver?.resume(returning: message)
        guard isFull else { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goOn = state.withLockedValue { state in
                    if state.messages.count < capacity || state.end != nil || state.readerCancelled { return true }
                    state.reader = continuation
                    return false
                }
                if goOn { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLockedValue { state in
                state.readerCancelled = true
                defer { state.reader = nil }
                return state.reader
            }
            waiting?.resume()
        }
    }

    /// Takes the next message, in order; messages that came before the end are still given out.
    func next() async throws -> WireMessage {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (ready, reader) = state.withLockedValue {
                    state -> (Result<WireMessage, any Error>?, CheckedContinuation<Void, Never>?) in
                    if Task.isCancelled { return (.failure(CancellationError()), nil) }
                    if !state.messages.isEmpty {
                        let message = state.messages.removeFirst()
                        defer { state.reader = nil }
                        return (.success(message), state.reader)
                    }
                    if let end = state.end { return (.failure(end), nil) }
                    precondition(state.receiver == nil, "one task at a time reads a tunnel")
                    state.receiver = continuation
                    return (nil, nil)
                }
                reader?.resume()
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            let waiting = state.withLockedValue { state in
                defer { state.receiver = nil }
                return state.receiver
            }
            waiting?.resume(throwing: CancellationError())
        }
    }

    /// Says that nothing more will come; only the first reason counts.
    func finish(_ reason: TunnelError) {
        let waiting = state.withLockedValue { state in
            state.end = state.end ?? reason
            defer {
                state.receiver = nil
                state.reader = nil
                state.onEnd = [:]
            }
            return (state.receiver, state.reader, Array(state.onEnd.values))
        }
        waiting.0?.resume(throwing: reason)
        waiting.1?.resume()
        for continuation in waiting.2 { continuation.resume() }
    }

    /// Waits for the end, or for cancellation.
    func waitForEnd() async {
        let id = state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ended = state.withLockedValue { state in
                    if state.end != nil || Task.isCancelled { return true }
                    state.onEnd[id] = continuation
                    return false
                }
                if ended { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLockedValue { $0.onEnd.removeValue(forKey: id) }
            waiting?.resume()
        }
    }

    /// Why it ended, if it has.
    var end: TunnelError? { state.withLockedValue { $0.end } }
}
