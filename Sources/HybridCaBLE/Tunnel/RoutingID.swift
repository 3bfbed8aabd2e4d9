// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Three bytes that identify the relay instance of a tunnel; not secret, not unique per tunnel.
///
/// The relay sends it to the authenticator in the header `X-caBLE-Routing-ID`. The authenticator includes it in its
/// encrypted advert, and the client in the path of its request.
public struct RoutingID: Hashable, Sendable {
    /// Length in bytes.
    public static let length = 3

    /// The bytes as a big-endian number.
    private let word: UInt32

    /// The three bytes.
    public var bytes: [UInt8] {
        [UInt8(truncatingIfNeeded: word >> 16), UInt8(truncatingIfNeeded: word >> 8), UInt8(truncatingIfNeeded: word)]
    }

    /// Creates an ID from bytes whose count was checked.
    init(checked bytes: some Collection<UInt8>) {
        word = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Creates an ID from 3 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        self.init(checked: bytes)
    }

    /// Reads 6 hexadecimal digits in either case.
    public init?(hex: some StringProtocol) {
        self.init(hexDigits: Array(hex.utf8)[...])
    }

    /// Reads 6 ASCII hexadecimal digits in either case.
    public init?(hexDigits digits: ArraySlice<UInt8>) {
        guard digits.count == 2 * Self.length, let number = Hex.number(digits) else { return nil }
        word = UInt32(truncatingIfNeeded: number)
    }

    /// Creates a routing ID of this project's relay from a node number and a byte that is checked on connect.
    public init(node: UInt16, check: UInt8) {
        word = UInt32(node) << 8 | UInt32(check)
    }

    /// Node number in the first two bytes, if the relay is one of this project's.
    public var node: UInt16 { UInt16(truncatingIfNeeded: word >> 8) }

    /// 6 lower-case hexadecimal digits.
    public var hex: String { Hex.encode(bytes) }
}
