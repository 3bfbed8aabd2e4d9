// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridPrimitives
public import NIOCore

/// What a balancer says of a connection that it passes on.
public enum ProxyHeader: Hashable, Sendable {
    /// Somebody at this address is at the other end; of a unix socket's address the path is left out.
    case relayed(SocketAddress)
    /// The balancer itself is: a health check, or somebody who came to it through a unix socket.
    case local
    /// The balancer does not know, or can't say, who is.
    case unknown

    /// The address of whoever is at the other end; `nil` where the balancer does not tell.
    public var source: SocketAddress? {
        guard case .relayed(let address) = self else { return nil }
        return address
    }
}

extension ProxyHeader: SecretMaterial {}

/// Why bytes are not a PROXY header; the balancer is misconfigured, or is none.
public enum ProxyViolation: Error, Hashable, Sendable, CaseIterable {
    /// The bytes begin like no PROXY header.
    case noHeader
    /// The line of version 1 is not complete after 107 bytes.
    case lineTooLong
    /// The line of version 1 is not as it must be.
    case malformedLine
    /// Not version 2, though the signature is that of version 2.
    case unknownVersion
    /// Neither LOCAL nor PROXY.
    case unknownCommand
    /// A family or transport that there is not.
    case unknownFamily
    /// Datagrams, which no connection carries.
    case datagrams
    /// The header is longer than ``ProxyHeaderReader/maximumLength``.
    case headerTooLong
    /// The header ends before its addresses do.
    case missingAddresses
    /// What follows the addresses is not made of types, lengths and values.
    case malformedExtension
    /// The checksum is wrong.
    case wrongChecksum

    /// One line for a log; it tells nothing of who is at the other end.
    public var sentence: String {
        switch self {
        case .noHeader: "no PROXY header"
        case .lineTooLong: "PROXY line too long"
        case .malformedLine: "malformed PROXY line"
        case .unknownVersion: "unknown version of PROXY header"
        case .unknownCommand: "unknown command in PROXY header"
        case .unknownFamily: "unknown address family in PROXY header"
        case .datagrams: "PROXY header for datagrams"
        case .headerTooLong: "PROXY header too long"
        case .missingAddresses: "PROXY header without its addresses"
        case .malformedExtension: "malformed extension of PROXY header"
        case .wrongChecksum: "wrong checksum in PROXY header"
        }
    }
}
