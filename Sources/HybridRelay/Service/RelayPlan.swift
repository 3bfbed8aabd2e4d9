// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridRelayCore
internal import NIOCore

/// What a configuration asks for, put together and found to make sense; nothing listens yet.
enum RelayPlan {
    /// A relay, and the sockets that a service manager opened for it.
    static func relay(
        _ configuration: Configuration,
        _ files: RelayFiles,
        _ sockets: [InheritedSocket],
        descriptors: Int
    ) throws(CommandFailure) -> RelayConfiguration {
        let addresses = try listeners(configuration, files, sockets)
        guard !addresses.isEmpty || !sockets.isEmpty else {
            throw configuration.contradiction("nowhere to listen: give --listen HOST:PORT")
        }
        var relay = RelayConfiguration(
            listen: addresses,
            transport: try files.transport(),
            limits: try LimitSettings.limits(of: configuration, descriptors: descriptors),
            node: UInt16(try node(configuration))
        )
        relay.inherited = sockets.map(\.descriptor)
        relay.balancers = try configuration.value(RelaySettings.proxyProtocolFrom)
        relay.tokens = try files.newTokens()
        relay.checksOrigin = try configuration.value(RelaySettings.checkOrigin)
        relay.countsSources = try !hidesSources(configuration)
        return relay
    }

    /// Whether all connections come from one address, a balancer that does not say who comes.
    static func hidesSources(_ configuration: Configuration) throws(CommandFailure) -> Bool {
        let balancers = try configuration.value(RelaySettings.proxyProtocolFrom)
        let isPlaintext = try configuration.value(RelaySettings.plaintext)
        return isPlaintext && balancers.isEmpty
    }

    /// Where to listen; plaintext only where tunnel IDs are not shown to a network.
    static func listeners(
        _ configuration: Configuration,
        _ files: RelayFiles,
        _ sockets: [InheritedSocket] = []
    ) throws(CommandFailure) -> [SocketAddress] {
        let mayBeSeen = try configuration.value(RelaySettings.insecurePublicPlaintext)
        let hasBalancers = try !configuration.value(RelaySettings.proxyProtocolFrom).isEmpty
        func check(_ address: SocketAddress, _ name: String) throws(CommandFailure) {
            guard files.certificate != nil || address.isLoopback || hasBalancers || mayBeSeen else {
                throw configuration.contradiction(
                    "--plaintext on \(name) would show everybody's tunnel IDs to the network: use --tls-cert and "
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
            guard let address = BoundSocket.address(of: socket.descriptor) else { continue }
            try check(address, "the service manager's socket")
        }
        return addresses
    }

    /// The node's number.
    static func node(_ configuration: Configuration) throws(CommandFailure) -> Int {
        let node = try configuration.value(RelaySettings.node)
        if try configuration.value(RelaySettings.cluster), node == nil {
            throw configuration.contradiction("--cluster needs --node: each relay of a cluster has a number of its own")
        }
        return node ?? 0
    }

    /// The admin's own address, if there is to be any.
    static func adminAddress(_ configuration: Configuration) throws(CommandFailure) -> ListenAddress? {
        guard let address = try configuration.value(RelaySettings.adminListen) else { return nil }
        let isPublic = try configuration.value(RelaySettings.listen).contains(address)
        guard !isPublic || address.port == 0 else {
            throw configuration.failure(RelaySettings.adminListen, "the admin listener can't be the public one")
        }
        return address
    }
}
