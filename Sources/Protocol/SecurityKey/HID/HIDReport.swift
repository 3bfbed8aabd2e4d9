// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// One report of the HID interface: 64 bytes, without a report ID.
///
/// A report carries one packet of a message (CTAP 2.2 §11.2.4). The first packet of a message is 4 bytes channel ‖
/// 1 byte command with the top bit set ‖ 2 bytes length of the message, big-endian ‖ 57 bytes data. Each further packet
/// is 4 bytes channel ‖ 1 byte sequence number ‖ 59 bytes data. Zeros fill the last packet.
public struct HIDReport: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 64

    /// The 64 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// Creates a report from a header and at most as much data as fits; zeros fill the rest.
    init(header: [UInt8], data: some Collection<UInt8>) {
        let content = header + data.prefix(Self.length - header.count)
        bytes = content + [UInt8](repeating: 0, count: Self.length - content.count)
    }

    /// The channel to which the packet belongs.
    public var channel: ChannelID { ChannelID(rawValue: bytes[..<4].reduce(0) { $0 << 8 | UInt32($1) }) }

    /// The packet.
    var packet: Packet {
        guard bytes[4] & 0x80 != 0 else { return .continuation(sequence: bytes[4], data: bytes[5...]) }
        return .initialization(
            command: bytes[4] & 0x7F,
            length: Int(bytes[5]) << 8 | Int(bytes[6]),
            data: bytes[7...]
        )
    }

    /// A part of a message.
    enum Packet {
        /// The beginning of a message of `length` bytes.
        case initialization(command: UInt8, length: Int, data: ArraySlice<UInt8>)
        /// The next part of a message.
        case continuation(sequence: UInt8, data: ArraySlice<UInt8>)
    }
}

/// A logical channel of one client, which the device allocates.
public struct ChannelID: Hashable, Sendable {
    /// The number; 0 is reserved.
    public let rawValue: UInt32

    /// Creates an ID from its number.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The channel for clients that have none yet.
    public static let broadcast = ChannelID(rawValue: 0xFFFF_FFFF)

    /// The four bytes, big-endian.
    var bytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> UInt32($0)) } }
}
