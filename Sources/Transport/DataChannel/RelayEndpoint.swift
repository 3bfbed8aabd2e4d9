// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridPrimitives
internal import NIOPosix

/// Network settings that apply to connections to every relay.
public struct NetworkConfiguration: Sendable {
    /// Overrides of addresses, like curl's `--connect-to`; the first that applies is used.
    ///
    /// TLS still checks the certificate against the relay's own name.
    public var connectTo: [ConnectTo]
    /// Path of a PEM file of certificates to trust instead of the system's, like curl's `--cacert`.
    public var trustedCertificates: String?
    /// The proxy and the hosts that need none.
    public var proxies: ProxySettings
    /// Time limits of each step.
    public var timeouts = Timeouts()
    /// TLS sessions of earlier connections to relays; `nil` if sessions are not kept and no early data is sent.
    public var sessions: TLSSessions?
    /// Name resolution.
    var lookup = NameLookup.system

    /// Creates a configuration; by default, it uses no proxy and trusts the system's certificates.
    public init(connectTo: [ConnectTo] = [], trustedCertificates: String? = nil, proxies: ProxySettings = .none) {
        self.connectTo = connectTo
        self.trustedCertificates = trustedCertificates
        self.proxies = proxies
    }

    /// Starts the threads that run the connections of this process, unless they run.
    ///
    /// Otherwise the first connection starts them, which takes about two milliseconds.
    public static func startThreads() {
        // The singletons start their threads when they are created.
        _ = MultiThreadedEventLoopGroup.singleton.next()
        _ = NIOThreadPool.singleton
    }

    /// Time limits of each step, in seconds; they start again for each host that a relay redirects to.
    public struct Timeouts: Sendable {
        /// Limit for name resolution and TCP.
        public var connect = 10
        /// Limit for a proxy's response, TLS and the WebSocket request together.
        public var open = 15

        /// Creates the default limits.
        public init() {}
    }
}

/// A relay and the network settings to reach it.
public struct RelayEndpoint: Sendable {
    /// The tunnel domain, which names the relay's host.
    public var domain: TunnelDomain
    /// Settings of the connection.
    public var network: NetworkConfiguration

    /// The port of every tunnel service.
    static let port = 443

    /// Creates an endpoint.
    public init(domain: TunnelDomain, network: NetworkConfiguration = NetworkConfiguration()) {
        self.domain = domain
        self.network = network
    }

    /// The host and port to connect to.
    struct Target: Equatable {
        let host: String
        let port: Int
        /// True if an override names the host.
        let isOverridden: Bool
    }

    /// Returns the host and port to connect to for the relay's host or one that it redirects to.
    func target(of host: String) -> Target {
        let override = override(of: host)
        let (target, port) = override?.target(for: host, port: Self.port) ?? (host, Self.port)
        return Target(host: target, port: port, isOverridden: override?.toHost != nil)
    }

    /// Returns the name of a host for error messages, with the override that applies to it.
    func displayName(of host: String) -> String {
        guard override(of: host) != nil else { return host }
        let target = target(of: host)
        return "\(host) (by --connect-to \(HostPort(host: target.host, port: target.port)))"
    }

    private func override(of host: String) -> ConnectTo? {
        network.connectTo.first { $0.target(for: host, port: Self.port) != nil }
    }
}
