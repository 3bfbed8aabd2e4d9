// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// The state shared by the event loop of a tunnel and the tasks that use the tunnel.
///
/// A few messages are buffered, so that the end of the connection after them is noticed while the user is prompted.
/// While the buffer is full, the socket is not read.
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

    /// Creates the state of an open tunnel without messages.
    ///
    /// - Parameters:
    ///   - capacity: The number of messages at which the buffer counts as full.
    ///   - onRoom: Called when the buffer was full and no longer is.
    init(capacity: Int = 4, onRoom: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.onRoom = onRoom
    }

    // MARK: Incoming messages

    /// Appends a message, even to a full buffer, because one read of the socket may yield several.
    func deliver(_ message: WireMessage) {
        state.change { state in
            guard !state.isDiscarding else { return }
            state.messages.append(message)
        }
    }

    /// True if the socket should not be read now.
    var isFull: Bool { state.read { $0.messages.count >= capacity } }

    /// Takes the next message, in order; messages that arrived before the end are still delivered.
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

    /// Drops buffered and future messages, so that the end of the connection after them is noticed.
    func discard() {
        let wasFull = state.change { state in
            defer { (state.messages, state.isDiscarding) = ([], true) }
            return state.messages.count >= capacity
        }
        if wasFull { onRoom() }
    }

    // MARK: Outgoing messages

    /// Records whether the socket accepts more data.
    func setRoomToSend(_ hasRoom: Bool) { state.change { $0.hasRoomToSend = hasRoom } }

    /// Waits until the socket accepts more data.
    ///
    /// - Throws: ``TunnelError`` if the tunnel ends first, `CancellationError`.
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

    /// Records the reason for the end; only the first counts.
    func finish(_ reason: TunnelError) { state.change { $0.end = $0.end ?? reason } }

    /// The reason for the end, once the tunnel has ended.
    var end: TunnelError? { state.read { $0.end } }

    /// Waits for the end, or for cancellation.
    func waitForEnd() async {
        while end == nil, !Task.isCancelled { await state.wait { $0.end != nil } }
    }
}
