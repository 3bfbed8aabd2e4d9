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
        case unix
    }

    private let content: Content

    /// Creates the source of an address.
    public init(_ address: SocketAddress) {
        content =
            switch address.unmappedIP {
            case let address? where address.isIPv6: .v6(address.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
            case let address?: .v4(address.bytes.reduce(0) { $0 << 8 | UInt32($1) })
            case nil: .unix
            }
    }
}

extension SocketAddress {
    /// True if only this computer can reach the address.
    public var isLoopback: Bool {
        self.protocol == .unix || unmappedIP?.isLoopback ?? false
    }

    /// The IP address, converted to IPv4 if it is IPv4-mapped; `nil` for a unix socket.
    var unmappedIP: IPAddress? { ipAddress.flatMap { IPAddress($0)?.unmapped } }

    /// Creates an address from 4 or 16 bytes; `nil` for any other number of bytes.
    init?(packed bytes: [UInt8], port: Int) {
        guard let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: port) else {
            return nil
        }
        self = address
    }
}
