// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// Three bytes that identify the relay instance of a tunnel; not secret, and not unique for each tunnel.
///
/// The relay sends the routing ID to the authenticator in the header `X-caBLE-Routing-ID`. The authenticator includes
/// it in its encrypted advert, and the client includes it in the path of its request.
public struct RoutingID: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 3

    /// The bytes as a big-endian number.
    private let word: UInt32

    /// The three bytes.
    public var bytes: [UInt8] {
        [UInt8(truncatingIfNeeded: word >> 16), UInt8(truncatingIfNeeded: word >> 8), UInt8(truncatingIfNeeded: word)]
    }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) {
        word = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Creates an ID from 6 hexadecimal digits in either case; `nil` for any other text.
    public init?(hex: some StringProtocol) {
        self.init(hexDigits: Array(hex.utf8)[...])
    }

    /// Creates an ID from 6 ASCII hexadecimal digits in either case; `nil` for any other text.
    public init?(hexDigits digits: ArraySlice<UInt8>) {
        guard digits.count == 2 * Self.length, let number = Hex.number(digits) else { return nil }
        word = UInt32(truncatingIfNeeded: number)
    }

    /// Creates a routing ID of this project's relay.
    ///
    /// - Parameters:
    ///   - node: ``NodeID/number`` of the relay instance.
    ///   - check: A byte that the relay verifies when a client connects.
    public init(node: UInt16, check: UInt8) {
        word = UInt32(node) << 8 | UInt32(check)
    }

    /// The node that assigned the ID; meaningful only for this project's relay.
    public var node: NodeID { NodeID(number: UInt16(truncatingIfNeeded: word >> 8)) }

    /// The ID as 6 lower-case hexadecimal digits.
    public var hex: String { Hex.encode(bytes) }
}
