// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One end of a tunnel: its identity, the other end, and the data that has passed.
final class TunnelEnd: WebSocketEnd {
    let key: TunnelIdentity
    // The order of the properties leaves no gaps: there are many ends.
    let side: TunnelSide
    /// True if a client has asked for a signal that the phone has joined, and has not got it.
    var awaitsSignal = false
    /// True if the tunnel has carried data since the last sweep.
    private var hasCarriedData = false
    /// The connection of the other end; `nil` while this one waits for it.
    private(set) var other: RelayConnection?
    /// Frames that arrived before the other end.
    @exclusivity(unchecked) private var earlyFrames: [UInt8] = []
    private var receivedCost = 0

    /// Creates an end that waits for the other one.
    init(_ key: TunnelIdentity, _ side: TunnelSide, _ limits: LimitsReference, now: NIODeadline) {
        (self.key, self.side) = (key, side)
        super.init(maximumMessage: limits.value.messageBytes, pongs: limits.value.pongsPerSecond, now: now)
    }

    /// Connects the end with the other one, which has received the early frames.
    func pair(with other: RelayConnection) { self.other = other }

    /// Forgets what only an open end needs; the key and the cost are reported when the connection closes.
    func end(in budget: BufferBudget) {
        other = nil
        pendingPong = nil
        _ = takeEarlyFrames(from: budget)
    }

    // MARK: Data

    override func handle(_ event: FrameEvent, _ bytes: RawSpan, on connection: RelayConnection) {
        sentCost += event.cost
        guard sentCost + receivedCost <= connection.limits.tunnelBytes else { return connection.endTunnel(.exhausted) }
        switch event {
        case .data(let range, let cost): forward(bytes.extracting(range), cost: cost, on: connection)
        case .ping(let payload): pendingPong = Array(copying: bytes.extracting(payload))
        case .pong: break
        case .close(let code):
            connection.endTunnel(other == nil ? .abandoned : .closed(by: side, code: code))
            if connection.isOpen { connection.closeTunnel(code) }
        }
    }

    private func forward(_ frames: RawSpan, cost: Int, on connection: RelayConnection) {
        if recordActivity() { connection.loop.checkSoon(connection) }
        if let other { other.deliver(frames, cost: cost) } else { keep(frames, in: connection.budget) }
    }

    /// Counts data from the other end; the result is that of ``recordActivity()``.
    func recordDelivery(cost: Int) -> Bool {
        receivedCost += cost
        return recordActivity()
    }

    /// Records that the tunnel has carried data; returns true if the next sweep has to report it.
    func recordActivity() -> Bool {
        defer { hasCarriedData = true }
        return !hasCarriedData
    }

    /// Returns the tunnel's key if it carried data since the last call.
    ///
    /// Only the phone reports it.
    func takeActivity() -> TunnelIdentity? {
        guard hasCarriedData, side == .phone else { return nil }
        hasCarriedData = false
        return key
    }

    // MARK: Early frames

    var hasEarlyFrames: Bool { !earlyFrames.isEmpty }

    private func keep(_ frames: RawSpan, in budget: BufferBudget) {
        let before = earlyFrames.capacity
        earlyFrames.append(copying: frames)
        budget.add(earlyFrames.capacity - before)
    }

    /// Returns the early frames and releases them from the budget.
    func takeEarlyFrames(from budget: BufferBudget) -> [UInt8] {
        guard !earlyFrames.isEmpty else { return [] }
        budget.add(-earlyFrames.capacity)
        defer { earlyFrames = [] }
        return earlyFrames
    }

    /// Returns the number of bytes that have not reached the other end, and the number at which this end is not read.
    func undeliveredBytes(_ limits: LimitsReference) -> (count: Int, limit: Int) {
        guard let other else { return (earlyFrames.count, limits.value.earlyBytes) }
        return (other.socket.pendingOutput, Self.pauseThreshold)
    }

    /// Number of bytes in the other end's output at which reading from this end stops.
    private static let pauseThreshold = 128 << 10
}
