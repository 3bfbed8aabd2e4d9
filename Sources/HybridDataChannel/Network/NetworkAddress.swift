// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

/// An IPv4 or IPv6 address, and whether it belongs to one network only.
struct NetworkAddress: Hashable, Sendable {
    /// 4 or 16 bytes, the first as it is written first.
    let bytes: [UInt8]

    /// Takes 4 or 16 bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Reads `192.0.2.1` or `2001:db8::1`, without brackets and zone; no other way of writing an address.
    init?(_ text: String) {
        // To C a text ends at its first zero, and what stands behind it would be taken along unread.
        guard !text.utf8.contains(0) else { return nil }
        var four = in_addr()
        var sixteen = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
            bytes = withUnsafeBytes(of: sixteen) { Array($0) }
        } else {
            return nil
        }
    }

    /// The address of a socket that has one.
    init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(text)
    }

    /// Whether the first `length` bits are those of `network`, which is of the same family.
    func begins(with network: NetworkAddress, bits length: Int) -> Bool {
        guard bytes.count == network.bytes.count, (0...bytes.count * 8).contains(length) else { return false }
        let whole = length / 8
        guard bytes[..<whole] == network.bytes[..<whole] else { return false }
        let rest = length % 8
        guard rest > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> rest)
        return bytes[whole] & mask == network.bytes[whole] & mask
    }

    /// Whether the address means the same host from everywhere.
    ///
    /// Loopback, private, link-local, shared (RFC 6598), multicast, documentation and reserved addresses do not, also
    /// where an IPv6 address carries such an IPv4 one. Source: IANA's registries of special-purpose addresses
    /// (RFC 6890) of 2025; what they don't know is taken for not global.
    var isGlobal: Bool {
        if bytes.count == 4 { return !Self.special4.contains { begins(with: $0.network, bits: $0.bits) } }
        // IPv4-mapped, and what a network that has IPv6 only makes of an IPv4 address (RFC 6052).
        for prefix in Self.carriers where begins(with: prefix.network, bits: prefix.bits) {
            return NetworkAddress(bytes: Array(bytes[12...]))?.isGlobal ?? false
        }
        // 6to4.
        if bytes[0] == 0x20, bytes[1] == 0x02 { return NetworkAddress(bytes: Array(bytes[2..<6]))?.isGlobal ?? false }
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        return !Self.special6.contains { begins(with: $0.network, bits: $0.bits) }
    }

    private typealias Block = (network: NetworkAddress, bits: Int)

    private static func blocks(_ texts: [(String, Int)]) -> [Block] {
        texts.compactMap { text, bits in NetworkAddress(text).map { ($0, bits) } }
    }

    private static let special4 = blocks([
        ("0.0.0.0", 8), ("10.0.0.0", 8), ("100.64.0.0", 10), ("127.0.0.0", 8), ("169.254.0.0", 16),
        ("172.16.0.0", 12), ("192.0.0.0", 24), ("192.0.2.0", 24), ("192.88.99.0", 24), ("192.168.0.0", 16),
        ("198.18.0.0", 15), ("198.51.100.0", 24), ("203.0.113.0", 24), ("224.0.0.0", 4), ("240.0.0.0", 4),
    ])

    private static let carriers = blocks([("::ffff:0.0.0.0", 96), ("64:ff9b::", 96)])

    /// Exceptions within 2000::/3.
    private static let special6 = blocks([("2001::", 23), ("2001:db8::", 32), ("3fff::", 20)])
}
