// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives
public import NIOCore

/// The source of a connection as stated by a load balancer.
public enum ProxyHeader: Hashable, Sendable, SecretMaterial {
    /// A peer with this address; the path of a unix socket is left out.
    case relayed(SocketAddress)
    /// The load balancer itself: a health check, or a peer that connected to it through a unix socket.
    case local
    /// The load balancer does not know the peer or cannot express its address.
    case unknown

    /// The address of the peer; `nil` if the load balancer does not state one.
    public var source: SocketAddress? {
        guard case .relayed(let address) = self else { return nil }
        return address
    }
}

/// The reason why bytes are not a PROXY header.
///
/// The sender is not a load balancer, or is misconfigured.
public struct ProxyViolation: Error, Hashable, Sendable {
    /// One line for a log, without any address.
    public let sentence: String

    private init(_ sentence: String) { self.sentence = sentence }

    /// The bytes do not begin like a PROXY header.
    public static let noHeader = ProxyViolation("no PROXY header")
    /// The line of version 1 is not complete after 107 bytes.
    public static let lineTooLong = ProxyViolation("PROXY line too long")
    /// The line of version 1 is malformed.
    public static let malformedLine = ProxyViolation("malformed PROXY line")
    /// The signature is that of version 2, but the version number is different.
    public static let unknownVersion = ProxyViolation("unknown version of PROXY header")
    /// The command is neither LOCAL nor PROXY.
    public static let unknownCommand = ProxyViolation("unknown command in PROXY header")
    /// The address family or transport is not defined.
    public static let unknownFamily = ProxyViolation("unknown address family in PROXY header")
    /// The transport is a datagram protocol, but a TCP connection cannot carry datagrams.
    public static let datagrams = ProxyViolation("PROXY header for datagrams")
    /// The header is longer than ``ProxyHeaderReader/maximumLength``.
    public static let headerTooLong = ProxyViolation("PROXY header too long")
    /// The header ends before its addresses do.
    public static let missingAddresses = ProxyViolation("PROXY header without its addresses")
    /// The bytes after the addresses are not valid type-length-value vectors.
    public static let malformedExtension = ProxyViolation("malformed extension of PROXY header")
    /// The checksum is wrong.
    public static let wrongChecksum = ProxyViolation("wrong checksum in PROXY header")
}
