// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridNetwork
internal import HybridPrimitives

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
