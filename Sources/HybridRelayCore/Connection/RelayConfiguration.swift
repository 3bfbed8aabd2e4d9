// SPDX-License-Identifier: Apache-2.0

public import NIOCore
public import NIOSSL

/// Transport of the relay's sockets.
public enum RelayTransport: Sendable {
    /// No TLS: behind a balancer that terminates it, or on a loopback address.
    case plaintext
    /// TLS with this context; ``RelayCertificate`` creates one from files.
    case tls(NIOSSLContext)
}

/// Addresses, transport and access rules of a relay.
public struct RelayConfiguration: Sendable {
    /// Addresses to listen on; with port 0 the system chooses a port.
    public var listen: [SocketAddress]
    /// Listening sockets opened by a service manager; the relay owns them once it has started.
    public var inherited: [CInt] = []
    /// Transport on all addresses.
    public var transport: RelayTransport
    /// Bounds on the resources that unauthenticated peers can use.
    public var limits: RelayLimits
    /// First two bytes of routing IDs, by which a balancer finds this relay among several.
    public var node: UInt16
    /// Balancers, whose connections begin with a PROXY header; from other peers such a header is a malformed request.
    public var balancers: [AddressBlock] = []
    /// True if connections count for their source; false behind a balancer without PROXY, where all have one source.
    public var countsSources = true
    /// Tokens that may open tunnels; `nil` means that every peer may.
    public var tokens: TunnelTokens?
    /// True if an `Origin` must name the relay's own host.
    public var checksOrigin = false

    /// Creates a configuration.
    ///
    /// Only the addresses and the transport have no default.
    public init(
        listen: [SocketAddress],
        transport: RelayTransport,
        limits: RelayLimits = RelayLimits(),
        node: UInt16 = 0
    ) {
        self.listen = listen
        self.transport = transport
        self.limits = limits
        self.node = node
    }
}
