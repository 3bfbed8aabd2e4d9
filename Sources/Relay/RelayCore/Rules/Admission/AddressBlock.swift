// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
public import NIOCore

/// A block of addresses, written as `192.0.2.0/24`, `2001:db8::/32`, a single address, or `unix`.
///
/// `unix` stands for all unix sockets. An IPv4-mapped IPv6 address counts as IPv4: `192.0.2.0/24` contains
/// `::ffff:192.0.2.1`, and no IPv6 block contains an IPv4 address, not even `::/0`.
public struct AddressBlock: Hashable, Sendable, CustomStringConvertible {
    /// The reason why a text is not a block of addresses.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// One line with the cause and the correct form.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The part before the slash is not an address.
        public static func notAnAddress(_ text: String) -> ParseError {
            ParseError(
                "\"\(text)\" is not an IP address or a block of them; write 192.0.2.0/24, 2001:db8::/32 or unix "
                    + "(host names are not resolved)"
            )
        }

        /// The part after the slash is not a number from 0 to `maximum`.
        public static func malformedPrefix(_ text: String, maximum: Int) -> ParseError {
            ParseError("\"\(text)\": after the slash, a number from 0 to \(maximum) is expected")
        }

        /// The address has bits after its prefix; `block` and `address` are the two possible meanings.
        public static func bitsAfterPrefix(_ text: String, block: String, address: String) -> ParseError {
            ParseError(
                "\"\(text)\" has bits after its prefix; write \(block) for the block or \(address) for the address"
            )
        }
    }

    /// The first address; `nil` for unix sockets.
    private let network: IPNumber?
    private let prefix: Int
    /// True if the block has addresses of the public internet.
    public let isPublic: Bool
    /// The block in a form that can be parsed, always with its prefix length.
    public let description: String

    /// Parses a block; an address without a slash is a block of one address.
    public init(parsing text: String) throws(ParseError) {
        guard text != "unix" else {
            (network, prefix, isPublic, description) = (nil, 0, false, text)
            return
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard var address = parts.first.flatMap({ IPAddress($0) }) else { throw .notAnAddress(text) }
        let width = address.bytes.count * 8
        var prefix = width
        if parts.count == 2 {
            guard let number = Int(digits: parts[1], maximum: width) else {
                throw .malformedPrefix(text, maximum: width)
            }
            prefix = number
        }
        // A shorter prefix would end before the embedded IPv4 address.
        if prefix >= 96, address.unmapped != address { (address, prefix) = (address.unmapped, prefix - 96) }
        let network = address.masked(bits: prefix)
        guard network == address else {
            throw .bitsAfterPrefix(text, block: "\(network)/\(prefix)", address: "\(address)")
        }
        (self.network, self.prefix, description) = (network.number, prefix, "\(network)/\(prefix)")
        // Special networks begin or end within a shorter block, except for those with less than a byte of prefix.
        isPublic = prefix < (network.isIPv6 ? 7 : 8) || network.isGlobal || network.last(bits: prefix).isGlobal
    }

    /// Returns true if the block contains the address of a socket.
    public func contains(_ address: SocketAddress) -> Bool {
        guard let network else { return address.ipNumber == nil }
        return address.ipNumber?.hasPrefix(network, bits: prefix) ?? false
    }
}

extension IPAddress {
    /// Returns the last address of the block with this prefix.
    fileprivate func last(bits count: Int) -> IPAddress {
        let last = bytes.enumerated().map { index, byte in
            byte | UInt8(truncatingIfNeeded: 0xFF >> max(0, min(8, count - index * 8)))
        }
        return IPAddress(bytes: last) ?? self
    }

    /// The address as a number; the caller has unmapped it.
    fileprivate var number: IPNumber {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        guard isIPv6 else { return IPNumber(v4: UInt32(truncatingIfNeeded: number(bytes[...]))) }
        return IPNumber(high: number(bytes[..<8]), low: number(bytes[8...]))
    }
}
