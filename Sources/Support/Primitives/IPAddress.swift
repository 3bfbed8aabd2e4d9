// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address without a zone.
package struct IPAddress: Hashable, Sendable {
    /// The 4 or 16 bytes of the address, in network byte order.
    package let bytes: [UInt8]

    /// Creates an address from its 4 or 16 bytes; `nil` for any other count.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Reads an IPv4 address such as `192.0.2.1`, or an IPv6 address (RFC 4291 §2.2), as inet_pton(3) does.
    ///
    /// - Returns: `nil` for other text, which includes brackets, zones, and leading zeros or missing parts in an IPv4
    ///   address.
    package init?(_ text: some StringProtocol) { self.init(Array(text.utf8)) }

    /// Reads an address from ASCII text.
    package init?(_ text: some Collection<UInt8>) {
        // The longest text, 45 characters, is an IPv6 address that ends in an IPv4 address.
        guard text.count <= 45, let bytes = Self.ipv4(text) ?? Self.ipv6(Array(text)) else { return nil }
        self.bytes = bytes
    }

    private static func ipv4(_ text: some Collection<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            // `UInt8` would accept a sign and leading zeros.
            guard part.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                part.count == 1 || part.first != UInt8(ascii: "0"),
                let byte = UInt8(String(decoding: part, as: UTF8.self))
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func ipv6(_ text: [UInt8]) -> [UInt8]? {
        guard let gap = text.firstRange(of: Array("::".utf8)) else {
            guard let bytes = groups(text[...], mayEndInIPv4: true), bytes.count == 16 else { return nil }
            return bytes
        }
        guard let head = groups(text[..<gap.lowerBound], mayEndInIPv4: false),
            let tail = groups(text[gap.upperBound...], mayEndInIPv4: true)
        else { return nil }
        // "::" stands for at least one group of two bytes.
        let missing = 16 - head.count - tail.count
        return missing >= 2 ? head + [UInt8](repeating: 0, count: missing) + tail : nil
    }

    private static func groups(_ text: ArraySlice<UInt8>, mayEndInIPv4: Bool) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if part.count <= 4, let value = Hex.number(part) {
                bytes += [UInt8(value >> 8), UInt8(value & 0xFF)]
            } else if mayEndInIPv4, index == parts.count - 1, let last = ipv4(part) {
                bytes += last
            } else {
                return nil
            }
        }
        return bytes
    }

    /// True for an address of 16 bytes.
    package var isIPv6: Bool { bytes.count == 16 }

    /// True for 127.0.0.0/8 and `::1`.
    package var isLoopback: Bool {
        isIPv6 ? bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1 : bytes[0] == 127
    }

    /// The IPv4 address that an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) stands for; any other address unchanged.
    package var unmapped: IPAddress {
        guard isIn(Self.ipv4Mapped) else { return self }
        return IPAddress(bytes: Array(bytes[12...])) ?? self
    }

    /// Returns the address with all bits after the first `count` cleared.
    package func masked(bits count: Int) -> IPAddress {
        let masked = bytes.enumerated().map { index, byte in
            byte & UInt8(truncatingIfNeeded: 0xFF00 >> max(0, min(8, count - index * 8)))
        }
        return IPAddress(bytes: masked) ?? self
    }

    /// Returns true if `network` is of the same family and has the same first `count` bits.
    package func hasPrefix(_ network: IPAddress, bits count: Int) -> Bool {
        bytes.count == network.bytes.count && (0...bytes.count * 8).contains(count)
            && masked(bits: count) == network.masked(bits: count)
    }
}

extension IPAddress: CustomStringConvertible {
    /// The address in the format of inet_ntop(3) and RFC 5952.
    package var description: String {
        guard isIPv6 else { return Self.dotted(bytes[...]) }
        let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        // The longest run of at least two zero groups is written as "::"; if several are equally long, the first one.
        var gap = 0..<0
        for start in groups.indices {
            let length = groups[start...].prefix { $0 == 0 }.count
            if length > max(1, gap.count) { gap = start..<start + length }
        }
        let carriesIPv4 = gap == 0..<6 || gap == 0..<5 && groups[5] == 0xFFFF
        func text(_ range: Range<Int>) -> String { groups[range].map { String($0, radix: 16) }.joined(separator: ":") }
        guard !gap.isEmpty else { return text(0..<8) }
        guard carriesIPv4 else { return text(0..<gap.lowerBound) + "::" + text(gap.upperBound..<8) }
        return (gap.count == 6 ? "::" : "::ffff:") + Self.dotted(bytes[12...])
    }

    private static func dotted(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.map { String($0) }.joined(separator: ".")
    }
}

extension IPAddress {
    private typealias Block = (network: IPAddress, bits: Int)

    /// True if the address identifies the same host from every network.
    ///
    /// This is false for loopback, private, link-local, shared (RFC 6598), multicast, documentation and reserved
    /// addresses, and for IPv6 addresses that embed such an IPv4 address. The source is IANA's registries of
    /// special-purpose addresses (RFC 6890) as of 2025. IPv6 addresses outside 2000::/3 count as not global.
    package var isGlobal: Bool {
        guard isIPv6 else { return !isIn(Self.special4) }
        // IPv4-mapped addresses, and those with the well-known prefix for translation between IPv4 and IPv6 (RFC 6052).
        if isIn(Self.carriers) {
            return IPAddress(bytes: Array(bytes[12...]))?.isGlobal ?? false
        }
        // A 6to4 address (RFC 3056) embeds an IPv4 address.
        if bytes[0] == 0x20, bytes[1] == 0x02 { return IPAddress(bytes: Array(bytes[2..<6]))?.isGlobal ?? false }
        return bytes[0] & 0xE0 == 0x20 && !isIn(Self.special6)
    }

    private static let ipv4Mapped = blocks([("::ffff:0.0.0.0", 96)])
    private static let carriers = blocks([("::ffff:0.0.0.0", 96), ("64:ff9b::", 96)])

    private func isIn(_ blocks: [Block]) -> Bool { blocks.contains { hasPrefix($0.network, bits: $0.bits) } }

    private static func blocks(_ texts: [(String, Int)]) -> [Block] {
        texts.compactMap { text, bits in IPAddress(text).map { ($0, bits) } }
    }

    private static let special4 = blocks([
        ("0.0.0.0", 8), ("10.0.0.0", 8), ("100.64.0.0", 10), ("127.0.0.0", 8), ("169.254.0.0", 16),
        ("172.16.0.0", 12), ("192.0.0.0", 24), ("192.0.2.0", 24), ("192.88.99.0", 24), ("192.168.0.0", 16),
        ("198.18.0.0", 15), ("198.51.100.0", 24), ("203.0.113.0", 24), ("224.0.0.0", 4), ("240.0.0.0", 4),
    ])

    /// Blocks within 2000::/3 that are not global.
    private static let special6 = blocks([("2001::", 23), ("2001:db8::", 32), ("3fff::", 20)])
}
