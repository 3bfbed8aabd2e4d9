// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// What the bytes of one end meant.
public enum FrameEvent: Hashable, Sendable {
    /// Frames for the end across, unmasked and with a server's headers, ready to be written as they are.
    ///
    /// `cost` is what they count against the tunnel's volume, in bytes.
    case data(ByteBuffer, cost: Int)
    /// A ping; answer it with its payload of at most 125 bytes.
    case ping([UInt8])
    /// A pong, which nobody asked for.
    case pong
    /// The end says goodbye, with a code or (`nil`) without.
    case close(CloseCode?)

    /// The least that any frame counts, in bytes.
    public static let minimumCost = 16

    /// What the event counts against the tunnel's volume, in bytes.
    public var cost: Int {
        switch self {
        case .data(_, let cost): cost
        case .ping(let payload): max(payload.count, Self.minimumCost)
        case .pong, .close: Self.minimumCost
        }
    }
}
