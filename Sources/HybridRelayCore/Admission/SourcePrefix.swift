// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridPrimitives
public import NIOCore

/// Where a connection comes from, as far as it is one party: an IPv4 address, an IPv6 /64, or the unix sockets.
///
/// Whoever has an IPv6 network has 2^64 addresses in it at least, so one address says nothing. An IPv4 address in IPv6
/// form is the IPv4 address. It tells who somebody is, so it does not print.
public struct SourcePrefix: Hashable, Sendable {
    private enum Content: Hashable, Sendable {
        case v4(UInt32)
        case v6(UInt64)
        case unix
    }

    private let content: Content

    /// The source that an address belongs to.
    public init(_ address: SocketAddress) {
        content =
            switch IPAddress(address) {
            case .v4(let number): .v4(number)
            case .v6(let number): .v6(UInt64(truncatingIfNeeded: number >> 64))
            case nil: .unix
            }
    }
}

extension SourcePrefix: SecretMaterial {}
