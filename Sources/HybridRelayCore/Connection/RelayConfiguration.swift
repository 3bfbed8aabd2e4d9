// SPDX-License-Identifier: Apache-2.0

public import NIOCore
public import NIOSSL

/// How the relay speaks on its sockets.
public enum RelayTransport: Sendable {
    /// No TLS: behind a balancer that ends it, or on one's own machine.
    case plaintext
    /// TLS with this context; see ``RelayCertificate`` for one from files.
    case tls(NIOSSLContext)
}

/// Where a relay listens, how it speaks there, and what it allows.
public struct RelayConfiguration: Sendable {
    /// Addresses to listen on; port 0 lets the system choose.
    public var listen: [SocketAddress]
    /// Listening sockets that somebody else has opened, a service manager; the relay owns them from its start on.
    public var inherited: [CInt] = []
    /// TLS or not, the same on each address.
    public var transport: RelayTransport
    /// Bounds on what strangers may cost.
    public var limits: RelayLimits
    /// The first two bytes of routing IDs, by which a balancer finds this relay among several.
    public var node: UInt16
    /// Balancers, whose connections begin with a PROXY header; from anybody else such a header is no request.
    public var balancers: [AddressBlock] = []
    /// Whether connections count for their source: not where all seem to come from one, a balancer without PROXY.
    public var countsSources = true
    /// Who may open tunnels; `nil` lets everybody.
    public var tokens: NewTokens?
    /// Whether an `Origin` must name the relay's own host.
    public var checksOrigin = false

    /// Puts a configuration together; only the addresses and the transport have no default.
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
