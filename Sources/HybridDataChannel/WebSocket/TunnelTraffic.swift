// SPDX-License-Identifier: Apache-2.0

/// What passes between the event loop of a tunnel and the tasks that use the tunnel.
///
/// A few messages may lie here unread, so that the end of the connection behind them is noticed while the user is
/// still being asked; then the box is full, and the socket is not read until somebody takes one.
final class TunnelTraffic: Sendable {
    private struct State {
        var messages: [WireMessage] = []
        var hasRoomToSend = true
        var isDiscarding = false
        var end: TunnelError?
    }

    private let state = AwaitableState(State())
    private let capacity: Int
    private let onRoom: @Sendable () -> Void

    /// - Parameter onRoom: called when the box was full and is so no more.
    init(capacity: Int = 4, onRoom: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.onRoom = onRoom
    }

    // MARK: Messages that arrive

    /// Puts a message in, also if the box is full: what one read of the socket brings comes in whole.
    func deliver(_ message: WireMessage) {
        state.change { state in
            guard !state.isDiscarding else { return }
            state.messages.append(message)
        }
    }

    /// Whether the socket should not be read now.
    var isFull: Bool { state.read { $0.messages.count >= capacity } }

    /// Takes the next message, in order; messages that came before the end are still given out.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    func next() async throws -> WireMessage {
        while true {
            try Task.checkCancellation()
            let (message, end, wasFull) = state.change { state -> (WireMessage?, TunnelError?, Bool) in
                guard !state.messages.isEmpty else { return (nil, state.end, false) }
                let wasFull = state.messages.count == capacity
                return (state.messages.removeFirst(), nil, wasFull)
            }
            if wasFull { onRoom() }
            if let message { return message }
            if let end { throw end }
            await state.wait { !$0.messages.isEmpty || $0.end != nil }
        }
    }

    /// Forgets what was not taken and what is still to come, so that the end behind it is reached.
    func discard() {
        let wasFull = state.change { state in
            defer { (state.messages, state.isDiscarding) = ([], true) }
            return state.messages.count >= capacity
        }
        if wasFull { onRoom() }
    }

    // MARK: Messages that leave

    /// Says whether the socket takes more.
    func setRoomToSend(_ hasRoom: Bool) { state.change { $0.hasRoomToSend = hasRoom } }

    /// Waits until the socket takes more.
    ///
    /// - Throws: ``TunnelError`` if the tunnel ended before, `CancellationError`.
    func waitForRoom() async throws {
        while true {
            try Task.checkCancellation()
            let (hasRoom, end) = state.read { ($0.hasRoomToSend, $0.end) }
            if hasRoom { return }
            if let end { throw end }
            await state.wait { $0.hasRoomToSend || $0.end != nil }
        }
    }

    // MARK: The end

    /// Says that nothing more will come; only the first reason counts.
    func finish(_ reason: TunnelError) { state.change { $0.end = $0.end ?? reason } }

    /// Why it ended, if it has.
    var end: TunnelError? { state.read { $0.end } }

    /// Waits for the end, or for cancellation.
    func waitForEnd() async {
        while end == nil, !Task.isCancelled { await state.wait { $0.end != nil } }
    }
}
