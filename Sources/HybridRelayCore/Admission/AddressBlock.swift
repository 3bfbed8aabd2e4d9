// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
public import NIOCore

/// A block of addresses in an operator's notation: `192.0.2.0/24`, `2001:db8::/32`, one address, or `unix`.
///
/// `unix` stands for all unix sockets. An IPv4-mapped IPv6 address counts as IPv4: `192.0.2.0/24` contains
/// `::ffff:192.0.2.1`, and no IPv6 block contains an IPv4 address, not even `::/0`.
public struct AddressBlock: Hashable, Sendable {
    private enum Content: Hashable, Sendable {
        case network(IPAddress, prefix: Int)
        case unix
    }

    /// Reason why a text is not a block of addresses.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// One line with the cause and the correct notation.
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

    private let content: Content

    /// Reads a block.
    ///
    /// An address without a slash is a block of one address.
    public init(parsing text: String) throws(ParseError) {
        guard text != "unix" else {
            content = .unix
            return
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard var address = parts.first.flatMap({ IPAddress($0) }) else { throw .notAnAddress(text) }
        let width = address.bytes.count * 8
        var prefix = width
        if parts.count == 2 {
            guard let number = Self.prefix(parts[1]), number <= width else {
                throw .malformedPrefix(text, maximum: width)
            }
            prefix = number
        }
        // A shorter prefix ends before the embedded IPv4 address.
        if prefix >= 96, address.unmapped != address { (address, prefix) = (address.unmapped, prefix - 96) }
        let network = address.masked(bits: prefix)
        guard network == address else {
            throw .bitsAfterPrefix(text, block: "\(network)/\(prefix)", address: "\(address)")
        }
        content = .network(network, prefix: prefix)
    }

    /// Returns a number of at most three digits without leading zeros.
    private static func prefix(_ digits: Substring.UTF8View) -> Int? {
        guard (1...3).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Returns true if the block contains the address of a socket.
    public func contains(_ address: SocketAddress) -> Bool {
        switch content {
        case .network(let network, let prefix): address.unmappedIP?.hasPrefix(network, bits: prefix) ?? false
        case .unix: address.protocol == .unix
        }
    }
}

extension AddressBlock: CustomStringConvertible {
    /// The block in a notation that can be parsed, always with its prefix.
    public var description: String {
        switch content {
        case .network(let network, let prefix): "\(network)/\(prefix)"
        case .unix: "unix"
        }
    }
}
