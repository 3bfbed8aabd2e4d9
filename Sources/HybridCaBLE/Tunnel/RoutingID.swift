// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Three bytes by which a relay finds the instance that holds a tunnel; not secret, not unique per tunnel.
///
/// The relay hands it to the phone in `X-caBLE-Routing-ID`; the phone passes it on inside the encrypted
/// advert; the client puts it into its URL.
public struct RoutingID: Hashable, Sendable {
    /// Length in bytes.
    public static let length = 3

    /// The bytes as one number, the first being the highest.
    private let word: UInt32

    /// The three bytes.
    public var bytes: [UInt8] {
        [UInt8(truncatingIfNeeded: word >> 16), UInt8(truncatingIfNeeded: word >> 8), UInt8(truncatingIfNeeded: word)]
    }

    init(plaintext bytes: [UInt8]) { self.init(checked: bytes) }

    /// Takes bytes whose number is known to be right.
    private init(checked bytes: some Collection<UInt8>) {
        word = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Takes exactly 3 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        self.init(checked: bytes)
    }

    /// Reads 6 hexadecimal digits of either case.
    public init?(hex: some StringProtocol) {
        guard let bytes = Hex.decode(hex.utf8, length: Self.length) else { return nil }
        self.init(checked: bytes)
    }

    /// Reads 6 hexadecimal digits of either case, as bytes of ASCII.
    public init?(hexDigits digits: ArraySlice<UInt8>) {
        guard digits.count == 2 * Self.length, let number = Hex.number(digits) else { return nil }
        word = UInt32(truncatingIfNeeded: number)
    }

    /// A routing ID of this project's relay: node number (big-endian) and one byte checked on connect.
    public init(node: UInt16, check: UInt8) {
        word = UInt32(node) << 8 | UInt32(check)
    }

    /// The node number in the first two bytes, if the relay is one of this project's.
    public var node: UInt16 { UInt16(truncatingIfNeeded: word >> 8) }

    /// 6 lower-case hexadecimal digits.
    public var hex: String { Hex.encode(bytes) }
}
