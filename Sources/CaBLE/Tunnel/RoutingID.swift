// SPDX-License-Identifier: Apache-2.0

/// Three bytes by which a relay finds the instance that holds a tunnel; not secret, not unique per tunnel.
///
/// The relay hands it to the phone in `X-caBLE-Routing-ID`; the phone passes it on inside the encrypted
/// advert; the client puts it into its URL.
public struct RoutingID: Hashable, Sendable {
    /// Length in bytes.
    public static let length = 3

    /// The three bytes.
    public let bytes: [UInt8]

    init(plaintext bytes: [UInt8]) { self.bytes = bytes }

    /// Takes exactly 3 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads 6 hexadecimal digits of either case.
    public init?(hex: some StringProtocol) {
        guard let bytes = Hex.decode(hex.utf8, length: Self.length) else { return nil }
        self.bytes = bytes
    }

    /// A routing ID of this project's relay: node number (big-endian) and one byte checked on connect.
    public init(node: UInt16, check: UInt8) {
        self.bytes = [UInt8(node >> 8), UInt8(truncatingIfNeeded: node), check]
    }

    /// The node number in the first two bytes, if the relay is one of this project's.
    public var node: UInt16 { UInt16(bytes[0]) << 8 | UInt16(bytes[1]) }

    /// 6 lower-case hexadecimal digits.
    public var hex: String { Hex.encode(bytes) }
}
