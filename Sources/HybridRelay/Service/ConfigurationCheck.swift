// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore
internal import NIOCore

/// Translation and validation of a configuration, before anything listens.
enum ConfigurationCheck {
    /// Returns the relay's configuration, with the sockets that a service manager opened for it.
    static func relay(
        _ configuration: Configuration,
        _ files: RelayFiles,
        _ sockets: [InheritedSocket],
        descriptors: Int
    ) throws(CommandFailure) -> RelayConfiguration {
        let addresses = try listeners(configuration, files, sockets)
        guard !addresses.isEmpty || !sockets.isEmpty else {
            throw configuration.contradiction("no address to listen on: give --listen HOST:PORT")
        }
        var relay = RelayConfiguration(
            listen: addresses,
            transport: try files.transport(),
            limits: try LimitSettings.limits(of: configuration, descriptors: descriptors),
            node: try node(configuration).number
        )
        relay.inherited = sockets.map(\.descriptor)
        relay.balancers = try balancers(configuration)
        relay.tokens = try files.tunnelTokens()
        relay.contactHost = try configuration.value(RelaySettings.contactHost)
        relay.push = try PushPlan.gateway(configuration)
        relay.checksOrigin = try configuration.value(RelaySettings.checkOrigin)
        relay.countsSources = try !hidesSources(configuration)
        return relay
    }

    /// Returns the load balancers, whose PROXY headers the relay believes.
    ///
    /// Other hosts may have addresses of the public internet, so they need a flag.
    static func balancers(_ configuration: Configuration) throws(CommandFailure) -> [AddressBlock] {
        let balancers = try configuration.value(RelaySettings.proxyProtocolFrom)
        let allowsPublic = try configuration.value(RelaySettings.insecurePublicBalancers)
        guard !allowsPublic, let block = balancers.first(where: \.isPublic) else { return balancers }
        throw configuration.contradiction(
            "--proxy-protocol-from \(block) has addresses of the public internet, whose hosts could claim any source: "
                + "name a private network, or give --insecure-public-balancers"
        )
    }

    /// Returns true if all connections come from one address, that of a load balancer without PROXY headers.
    static func hidesSources(_ configuration: Configuration) throws(CommandFailure) -> Bool {
        let balancers = try configuration.value(RelaySettings.proxyProtocolFrom)
        let isPlaintext = try configuration.value(RelaySettings.plaintext)
        return isPlaintext && balancers.isEmpty
    }

    /// Returns the addresses to listen on.
    ///
    /// Plaintext that would expose tunnel IDs to a network is rejected, unless the configuration allows it.
    static func listeners(
        _ configuration: Configuration,
        _ files: RelayFiles,
        _ sockets: [InheritedSocket] = []
    ) throws(CommandFailure) -> [SocketAddress] {
        let allowsPlaintext = try configuration.value(RelaySettings.insecurePublicPlaintext)
        let hasBalancers = try !configuration.value(RelaySettings.proxyProtocolFrom).isEmpty
        func check(_ address: SocketAddress, _ name: String) throws(CommandFailure) {
            guard files.certificate != nil || address.isLoopback || hasBalancers || allowsPlaintext else {
                throw configuration.contradiction(
                    "--plaintext on \(name) would expose all tunnel IDs to the network: use --tls-cert and "
                        + "--tls-key, a loopback address, --proxy-protocol-from, or --insecure-public-plaintext"
                )
            }
        }
        var addresses: [SocketAddress] = []
        for address in try configuration.value(RelaySettings.listen) {
            let resolved = try address.resolved()
            try check(resolved, "\(address)")
            addresses.append(resolved)
        }
        for socket in sockets {
            guard let address = socket.address else { continue }
            try check(address, "the service manager's socket")
        }
        return addresses
    }

    /// Returns the relay's region and its number there.
    ///
    /// Without a region, the number may be that of the whole cluster, as before there were regions.
    static func node(_ configuration: Configuration) throws(CommandFailure) -> NodeID {
        let node = try configuration.value(RelaySettings.node)
        let isCluster = try configuration.value(RelaySettings.cluster)
        if isCluster, node == nil {
            throw configuration.contradiction("--cluster needs --node: each relay of a cluster has its own number")
        }
        guard let region = try configuration.value(RelaySettings.region) else {
            return NodeID(number: UInt16(node ?? 0))
        }
        guard isCluster, let node else {
            throw configuration.contradiction("--region needs --cluster and --node: only a cluster has regions")
        }
        guard let id = NodeID(region: region, node: node) else {
            throw configuration.failure(RelaySettings.node, "with --region, a node's number is 0 to 1023")
        }
        return id
    }

    /// Returns the admin listener's address, if it is configured.
    static func adminAddress(_ configuration: Configuration) throws(CommandFailure) -> HostPort? {
        guard let address = try configuration.value(RelaySettings.adminListen) else { return nil }
        let isPublic = try configuration.value(RelaySettings.listen).contains(address)
        guard !isPublic || address.port == 0 else {
            throw configuration.failure(RelaySettings.adminListen, "the admin listener cannot be the public one")
        }
        return address
    }
}

extension InheritedSocket {
    /// The socket's address; `nil` if it is neither IPv4 nor IPv6 and therefore unreachable from a network.
    fileprivate var address: SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { storage in
            let address = storage.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            guard let address, getsockname(descriptor, address, &length) == 0 else { return nil }
            return switch Int32(address.pointee.sa_family) {
            case AF_INET: SocketAddress(storage.load(as: sockaddr_in.self))
            case AF_INET6: SocketAddress(storage.load(as: sockaddr_in6.self))
            default: nil
            }
        }
    }
}
