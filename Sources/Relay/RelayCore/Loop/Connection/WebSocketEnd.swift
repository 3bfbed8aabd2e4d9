// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The state of a connection that has become a WebSocket: a ``TunnelEnd`` or a ``ListeningPhone``.
class WebSocketEnd {
    // The run-time checks of exclusive access to the reader, and to the early frames of a tunnel, cost more than a short
    // message. They are not needed, because no access calls code that could access the same property: the reader and the
    // array call no other.
    @exclusivity(unchecked) final var frames: FrameReader
    /// Payload of the ping to be answered; a later ping replaces it.
    final var pendingPong: [UInt8]?
    /// Number of pings that may still be answered before the next sweep.
    final var remainingPongs: Int
    /// Number of bytes that the peer has sent, as they count against the limit.
    final var sentCost = 0
    /// True if bytes have been received, or pending output has been taken, since the last sweep.
    ///
    /// The first of them are those of the request.
    final var hasReceived = true
    final var keepalive: KeepaliveState

    /// Creates the state of a connection whose request has arrived.
    init(maximumMessage: Int, pongs: Int, now: NIODeadline) {
        frames = FrameReader(maximumMessage: maximumMessage)
        remainingPongs = pongs
        keepalive = KeepaliveState(since: now)
    }

    /// Handles an event in the bytes from the peer.
    func handle(_ event: FrameEvent, _ bytes: RawSpan, on connection: RelayConnection) {}
}

/// Time since an end last sent anything, and the pings sent since then.
struct KeepaliveState {
    enum Step {
        case wait
        case ping
        /// No ping was answered.
        case giveUp
    }

    private let lastReceived: NIODeadline
    private var pings = 0

    /// Creates the state of an end that sent something at this time.
    init(since lastReceived: NIODeadline) { self.lastReceived = lastReceived }

    /// The time of the next step other than ``Step/wait``.
    func nextStep(interval: TimeAmount) -> NIODeadline { lastReceived + interval * (pings + 1) }

    /// Returns the next step; if it is a ping, the ping counts as sent.
    mutating func next(now: NIODeadline, interval: TimeAmount, misses: Int) -> Step {
        guard now >= nextStep(interval: interval) else { return .wait }
        guard pings < misses else { return .giveUp }
        pings += 1
        return .ping
    }
}
