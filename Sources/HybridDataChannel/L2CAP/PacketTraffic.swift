// SPDX-License-Identifier: Apache-2.0

/// What passes between the thread of an L2CAP channel and the tasks that use it.
struct PacketTraffic: Sendable {
    /// Packets that came and lie here unread; no more are received once there are this many.
    static let capacity = 8

    /// Why nothing more will come.
    enum End: Sendable {
        /// The other end closed the channel, or we did.
        case closed
        /// The link broke.
        case lost
    }

    var received: [[UInt8]] = []
    /// Packets that are still to be sent, and until when that is waited for.
    var outgoing: [[UInt8]] = []
    var deadline: ContinuousClock.Instant?
    var end: End?
    /// Set when nobody needs the channel any more.
    var isLeaving = false
    /// Set when the thread has let go of the socket.
    var isOver = false

    var hasRoom: Bool { received.count < Self.capacity }
}
