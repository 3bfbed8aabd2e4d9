// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// The transport of the relay's sockets.
public enum SocketSecurity: Sendable {
    /// No TLS, for a relay on a loopback address or behind a load balancer that terminates TLS.
    case plaintext
    /// TLS with this context; ``RelayCertificate`` creates one from files.
    case tls(TLSServerContext)
}

/// Addresses, transport and access rules of a relay.
public struct RelayConfiguration: Sendable {
    /// Addresses to listen on; with port 0 the system chooses a port.
    public var listen: [SocketAddress]
    /// Listening sockets opened by a service manager; the relay owns them once it has started.
    public var inherited: [CInt] = []
    /// Transport on all addresses.
    public var transport: SocketSecurity
    /// Bounds on the resources that unauthenticated peers can use.
    public var limits: RelayLimits
    /// The first two bytes of routing IDs (`NodeID`), by which load balancers find this relay among several.
    public var node: UInt16
    /// Load balancers, whose connections begin with a PROXY header; from other peers, such a header is malformed.
    public var balancers: [AddressBlock] = []
    /// True if the limits for each source apply; false behind a load balancer without PROXY headers, which would be the
    /// only source.
    public var countsSources = true
    /// Tokens that may open tunnels; `nil` means that every peer may.
    public var tokens: TunnelTokens?
    /// The host of the relay's tunnel domain in lower case, for which phones prove their contact IDs; `nil` means that
    /// linked phones are not offered.
    ///
    /// It is never taken from a request. Otherwise, another relay could use a phone's proof here.
    public var contactHost: String?
    /// The way to phones with a push subscription; `nil` means that their contact IDs are not offered.
    public var push: PushGateway?
    /// True if an `Origin` field must name the same host as the `Host` field.
    ///
    /// Otherwise, the page of any website can open tunnels with the addresses of its visitors.
    public var checksOrigin = true

    /// Creates a configuration; only the addresses and the transport have no default.
    public init(
        listen: [SocketAddress],
        transport: SocketSecurity,
        limits: RelayLimits = RelayLimits(),
        node: UInt16 = 0
    ) {
        self.listen = listen
        self.transport = transport
        self.limits = limits
        self.node = node
    }
}
