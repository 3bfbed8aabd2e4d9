// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives
public import NIOCore

/// The source of a connection: an IPv4 address, an IPv6 /64, or all unix sockets.
///
/// The owner of an IPv6 network has at least 2^64 addresses, so a single address does not identify a source. An
/// IPv4-mapped IPv6 address counts as the IPv4 address. A source identifies a user, so it is never printed.
public struct SourcePrefix: Hashable, Sendable, SecretMaterial {
    private enum Content: Hashable, Sendable {
        case v4(UInt32)
        case v6(UInt64)
        case network(UInt64, bits: UInt8)
        case unix
    }

    private let content: Content

    private init(_ content: Content) { self.content = content }

    /// Creates the source of an address.
    public init(_ address: SocketAddress) {
        content =
            switch address.ipNumber {
            case let address? where address.isIPv6: .v6(address.high)
            case let address?: .v4(UInt32(truncatingIfNeeded: address.low))
            case nil: .unix
            }
    }

    /// The lengths of the IPv6 networks around a /64 in bits, the smallest network first.
    ///
    /// A /48 is the usual assignment to a site (RFC 6177), so one party may own all 65,536 of its /64s. A provider, or
    /// anyone who registers as one, gets a /32.
    static let networkLengths: [UInt8] = [48, 40, 32]

    /// Returns the IPv6 network of this length, 32 to 63, that contains a /64; `nil` for other sources.
    ///
    /// Neighbors of an IPv4 address usually belong to other parties.
    func network(_ bits: UInt8) -> SourcePrefix? {
        guard case .v6(let number) = content else { return nil }
        return SourcePrefix(.network(number >> UInt64(64 - bits), bits: bits))
    }

    /// A number of the largest network that one party may own, or of the source itself.
    ///
    /// It differs between processes, and two sources may have the same.
    var party: Int { (network(32) ?? self).hashValue }
}

/// An IP address as a number, for checks of each connection without text or allocation.
struct IPNumber: Hashable, Sendable {
    let isIPv6: Bool
    /// First 64 bits of an IPv6 address; 0 for IPv4.
    let high: UInt64
    /// Last 64 bits of an IPv6 address, or the 32 bits of an IPv4 address.
    let low: UInt64

    /// Creates the number of an IPv4 address.
    init(v4 number: UInt32) { (isIPv6, high, low) = (false, 0, UInt64(number)) }

    /// Creates the number of an IPv6 address, or of the IPv4 address that it is mapped from.
    init(high: UInt64, low: UInt64) {
        isIPv6 = high != 0 || low >> 32 != 0xFFFF
        self.high = high
        self.low = isIPv6 ? low : low & 0xFFFF_FFFF
    }

    /// True for 127.0.0.0/8 and `::1`.
    var isLoopback: Bool { isIPv6 ? high == 0 && low == 1 : low >> 24 == 127 }

    /// Returns true if both are of the same family and have the same first `bits` bits.
    func hasPrefix(_ other: IPNumber, bits: Int) -> Bool {
        guard isIPv6 == other.isIPv6 else { return false }
        // A shift of 64 gives 0.
        guard isIPv6 else { return (low ^ other.low) >> (32 - bits) == 0 }
        return (high ^ other.high) >> max(0, 64 - bits) == 0 && (low ^ other.low) >> min(64, 128 - bits) == 0
    }
}

extension SocketAddress {
    /// True if only this computer can reach the address.
    public var isLoopback: Bool { ipNumber?.isLoopback ?? true }

    /// The IP address, converted to IPv4 if it is IPv4-mapped; `nil` for a unix socket.
    var ipNumber: IPNumber? {
        // The fields of ip(7) and ipv6(7): family, port, IPv4 address; or family, port, flow label, IPv6 address.
        switch self {
        case .v4(let address):
            withUnsafeBytes(of: address.address) { bytes in
                IPNumber(v4: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            }
        case .v6(let address):
            withUnsafeBytes(of: address.address) { bytes in
                IPNumber(
                    high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                    low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
                )
            }
        case .unixDomainSocket: nil
        }
    }

    /// Creates an address from 4 or 16 bytes; `nil` for any other number of bytes.
    init?(packed bytes: [UInt8], port: Int) {
        guard let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: port) else {
            return nil
        }
        self = address
    }
}
