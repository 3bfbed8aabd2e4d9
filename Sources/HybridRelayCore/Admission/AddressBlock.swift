// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// A block of addresses as an operator writes it: `192.0.2.0/24`, `2001:db8::/32`, one address, or `unix`.
///
/// `unix` stands for all unix sockets. An IPv4 address in IPv6 form counts as IPv4, so `192.0.2.0/24` holds
/// `::ffff:192.0.2.1`, and no IPv6 block holds an IPv4 address, not even `::/0`.
public struct AddressBlock: Hashable, Sendable {
    private enum Content: Hashable, Sendable {
        case v4(UInt32, prefix: Int)
        case v6(UInt128, prefix: Int)
        case unix
    }

    /// Why a text is not a block of addresses.
    public enum ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// What should be the address is none.
        case notAnAddress(String)
        /// What stands behind the slash is not a number from 0 to `maximum`.
        case malformedPrefix(String, maximum: Int)
        /// The address has bits behind its prefix; `block` and `address` are what may have been meant.
        case bitsBehindPrefix(String, block: String, address: String)

        /// One line that says what to write instead.
        public var description: String {
            switch self {
            case .notAnAddress(let text):
                "\"\(text)\" is not an IP address or a block of them; write 192.0.2.0/24, 2001:db8::/32 or unix "
                    + "(host names are not looked up)"
            case .malformedPrefix(let text, let maximum):
                "\"\(text)\": behind the slash must stand a number from 0 to \(maximum)"
            case .bitsBehindPrefix(let text, let block, let address):
                "\"\(text)\" has bits behind its prefix; write \(block) for the block or \(address) for the address"
            }
        }
    }

    private let content: Content

    /// Reads a block; an address without a slash stands for itself alone.
    public init(parsing text: String) throws(ParseError) {
        guard text != "unix" else {
            content = .unix
            return
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        let notation: IPNotation = text.utf8.contains(UInt8(ascii: ":")) ? .v6 : .v4
        guard let first = parts.first, let packed = notation.packed(first), let address = IPAddress(packed: packed)
        else { throw .notAnAddress(text) }
        let width = packed.count * 8
        var prefix = width
        if parts.count == 2 {
            guard let number = Self.prefix(parts[1]), number <= width else {
                throw .malformedPrefix(text, maximum: width)
            }
            prefix = number
        }
        content = try Self.content(address, prefix: prefix, width: width, text: text)
    }

    /// A number of at most three digits without leading zeros.
    private static func prefix(_ digits: Substring.UTF8View) -> Int? {
        guard (1...3).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func content(
        _ address: IPAddress,
        prefix: Int,
        width: Int,
        text: String
    ) throws(ParseError) -> Content {
        switch address {
        case .v4(let number) where prefix + 32 >= width:
            let prefix = prefix + 32 - width
            let network = number & mask(prefix)
            guard network == number else {
                let block = "\(IPAddress.v4(network).text)/\(prefix)"
                throw .bitsBehindPrefix(text, block: block, address: address.text)
            }
            return .v4(network, prefix: prefix)
        case .v4(let number):
            // Written as IPv6 with a prefix that ends before the IPv4 address begins.
            throw bitsBehindPrefix(0xFFFF << 32 | UInt128(number), prefix: prefix, text: text)
        case .v6(let number):
            guard number & mask(prefix) == number else { throw bitsBehindPrefix(number, prefix: prefix, text: text) }
            return .v6(number, prefix: prefix)
        }
    }

    private static func bitsBehindPrefix(_ number: UInt128, prefix: Int, text: String) -> ParseError {
        let block = "\(IPAddress.v6(number & mask(prefix)).text)/\(prefix)"
        return .bitsBehindPrefix(text, block: block, address: IPAddress.v6(number).text)
    }

    /// So many bits at the front.
    private static func mask<Number: FixedWidthInteger>(_ prefix: Int) -> Number {
        ~0 << (Number.bitWidth - prefix)
    }

    /// Whether the address of a socket lies in the block.
    public func contains(_ address: SocketAddress) -> Bool {
        switch (content, IPAddress(address)) {
        case (.v4(let network, let prefix), .v4(let number)): number & Self.mask(prefix) == network
        case (.v6(let network, let prefix), .v6(let number)): number & Self.mask(prefix) == network
        case (.unix, nil): address.protocol == .unix
        default: false
        }
    }
}

extension AddressBlock: CustomStringConvertible {
    /// The block as it can be read again, always with its prefix.
    public var description: String {
        switch content {
        case .v4(let network, let prefix): "\(IPAddress.v4(network).text)/\(prefix)"
        case .v6(let network, let prefix): "\(IPAddress.v6(network).text)/\(prefix)"
        case .unix: "unix"
        }
    }
}
