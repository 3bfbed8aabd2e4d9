// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram

/// The flags of `serve` and `check-config`.
///
/// All values are strings, so that flags, variables and the file are parsed alike.
struct RelayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with HYBRID_* variables; default: \(RelaySettings.defaultFile), if it exists.",
            valueName: "file"
        )
    )
    var config: String?

    @Option(help: help(RelaySettings.listen, "host:port")) var listen: [String] = []
    @Option(help: help(RelaySettings.tlsCert, "file")) var tlsCert: String?
    @Option(help: help(RelaySettings.tlsKey, "file")) var tlsKey: String?
    @Flag(help: help(RelaySettings.plaintext)) var plaintext = false
    @Flag(help: help(RelaySettings.insecurePublicPlaintext)) var insecurePublicPlaintext = false
    @Option(help: help(RelaySettings.proxyProtocolFrom, "block")) var proxyProtocolFrom: [String] = []
    @Option(help: help(RelaySettings.adminListen, "host:port")) var adminListen: String?
    @Option(help: help(RelaySettings.node, "number")) var node: String?
    @Flag(help: help(RelaySettings.cluster)) var cluster = false
    @Option(help: help(RelaySettings.newTokenFile, "file")) var newTokenFile: String?
    @Option(help: help(RelaySettings.contactHost, "host")) var contactHost: String?
    @Option(help: help(RelaySettings.pushKeyFile, "file")) var pushKeyFile: String?
    @Option(help: help(RelaySettings.pushSubject, "url")) var pushSubject: String?
    @Option(help: help(RelaySettings.pushAllow, "host[:port]")) var pushAllow: [String] = []
    @Option(help: help(RelaySettings.pushCacert, "file")) var pushCacert: String?
    @Flag(help: help(RelaySettings.checkOrigin)) var checkOrigin = false
    @Option(help: help(RelaySettings.drainGrace, "s")) var drainGrace: String?
    @Option(help: help(RelaySettings.eventLoops, "n")) var eventLoops: String?
    @Option(help: help(RelaySettings.logFormat, "console|json")) var logFormat: String?
    @Option(help: help(RelaySettings.logLevel, "level")) var logLevel: String?

    @Option(help: help(LimitSettings.maxMessage, "bytes")) var maxMessage: String?
    @Option(help: help(LimitSettings.maxEarly, "bytes")) var maxEarly: String?
    @Option(help: help(LimitSettings.maxTunnelBytes, "bytes")) var maxTunnelBytes: String?
    @Option(help: help(LimitSettings.waitingTimeout, "s")) var waitingTimeout: String?
    @Option(help: help(LimitSettings.idleTimeout, "s")) var idleTimeout: String?
    @Option(help: help(LimitSettings.maxLifetime, "s")) var maxLifetime: String?
    @Option(help: help(LimitSettings.waitingPerTunnel, "n")) var waitingPerTunnel: String?
    @Option(help: help(LimitSettings.maxTunnels, "n")) var maxTunnels: String?
    @Option(help: help(LimitSettings.maxConnections, "n")) var maxConnections: String?
    @Option(help: help(LimitSettings.maxBuffered, "bytes")) var maxBuffered: String?
    @Option(help: help(LimitSettings.headTimeout, "s")) var headTimeout: String?
    @Option(help: help(LimitSettings.maxHead, "bytes")) var maxHead: String?
    @Option(help: help(LimitSettings.sourceOpen, "n")) var sourceOpen: String?
    @Option(help: help(LimitSettings.sourceConnectionsPerMinute, "n")) var sourceConnectionsPerMinute: String?
    @Option(help: help(LimitSettings.sourceNewPerMinute, "n")) var sourceNewPerMinute: String?
    @Option(help: help(LimitSettings.sourceListeners, "n")) var sourceListeners: String?
    @Option(help: help(LimitSettings.sourceNetworkFactor, "n")) var sourceNetworkFactor: String?
    @Option(help: help(LimitSettings.maxListeners, "n")) var maxListeners: String?
    @Option(help: help(LimitSettings.maxHeldContacts, "n")) var maxHeldContacts: String?
    @Option(help: help(LimitSettings.listenerLifetime, "s")) var listenerLifetime: String?
    @Option(help: help(LimitSettings.pushHostPerMinute, "n")) var pushHostPerMinute: String?
    @Option(help: help(LimitSettings.pingInterval, "s")) var pingInterval: String?
    @Option(help: help(LimitSettings.pingMisses, "n")) var pingMisses: String?

    /// The configuration file, which may be missing.
    var configurationFile: String { config ?? RelaySettings.defaultFile }

    /// Resolves the settings: flags, then variables, then the file, then defaults.
    func resolved() throws(CommandFailure) -> Configuration {
        try RelaySettings.resolver.resolve(
            flags: flags,
            environment: ProcessEnvironment.variables,
            file: try ConfigurationFile.read(named: config, orElse: RelaySettings.defaultFile)
        )
    }

    private var flags: GivenFlags {
        var flags = GivenFlags()
        flags.set(RelaySettings.listen, listen)
        flags.set(RelaySettings.tlsCert, tlsCert)
        flags.set(RelaySettings.tlsKey, tlsKey)
        flags.set(RelaySettings.plaintext, given: plaintext)
        flags.set(RelaySettings.insecurePublicPlaintext, given: insecurePublicPlaintext)
        flags.set(RelaySettings.proxyProtocolFrom, proxyProtocolFrom)
        flags.set(RelaySettings.adminListen, adminListen)
        flags.set(RelaySettings.node, node)
        flags.set(RelaySettings.cluster, given: cluster)
        flags.set(RelaySettings.newTokenFile, newTokenFile)
        flags.set(RelaySettings.contactHost, contactHost)
        flags.set(RelaySettings.pushKeyFile, pushKeyFile)
        flags.set(RelaySettings.pushSubject, pushSubject)
        flags.set(RelaySettings.pushAllow, pushAllow)
        flags.set(RelaySettings.pushCacert, pushCacert)
        flags.set(RelaySettings.checkOrigin, given: checkOrigin)
        flags.set(RelaySettings.drainGrace, drainGrace)
        flags.set(RelaySettings.eventLoops, eventLoops)
        flags.set(RelaySettings.logFormat, logFormat)
        flags.set(RelaySettings.logLevel, logLevel)
        flags.set(LimitSettings.maxMessage, maxMessage)
        flags.set(LimitSettings.maxEarly, maxEarly)
        flags.set(LimitSettings.maxTunnelBytes, maxTunnelBytes)
        flags.set(LimitSettings.waitingTimeout, waitingTimeout)
        flags.set(LimitSettings.idleTimeout, idleTimeout)
        flags.set(LimitSettings.maxLifetime, maxLifetime)
        flags.set(LimitSettings.waitingPerTunnel, waitingPerTunnel)
        flags.set(LimitSettings.maxTunnels, maxTunnels)
        flags.set(LimitSettings.maxConnections, maxConnections)
        flags.set(LimitSettings.maxBuffered, maxBuffered)
        flags.set(LimitSettings.headTimeout, headTimeout)
        flags.set(LimitSettings.maxHead, maxHead)
        flags.set(LimitSettings.sourceOpen, sourceOpen)
        flags.set(LimitSettings.sourceConnectionsPerMinute, sourceConnectionsPerMinute)
        flags.set(LimitSettings.sourceNewPerMinute, sourceNewPerMinute)
        flags.set(LimitSettings.sourceListeners, sourceListeners)
        flags.set(LimitSettings.sourceNetworkFactor, sourceNetworkFactor)
        flags.set(LimitSettings.maxListeners, maxListeners)
        flags.set(LimitSettings.maxHeldContacts, maxHeldContacts)
        flags.set(LimitSettings.listenerLifetime, listenerLifetime)
        flags.set(LimitSettings.pushHostPerMinute, pushHostPerMinute)
        flags.set(LimitSettings.pingInterval, pingInterval)
        flags.set(LimitSettings.pingMisses, pingMisses)
        return flags
    }
}

/// The settings of `serve` with the same flags.
extension RelayOptions: CheckedSettings {
    static var checkConfigDiscussion: String {
        """
        Reads what serve would read and fails with the same errors, but does not listen. Listening addresses may be \
        missing, because a service manager may pass sockets.
        """
    }

    func checkedConfiguration() throws -> Configuration {
        let configuration = try resolved()
        let files = try RelayFiles(configuration)
        _ = try files.transport()
        _ = try files.tunnelTokens()
        _ = try RelayPlan.listeners(configuration, files)
        _ = try RelayPlan.node(configuration)
        _ = try RelayPlan.adminAddress(configuration)
        _ = try PushPlan.gateway(configuration)
        return configuration
    }
}

private func help<Value>(_ setting: Setting<Value>, _ valueName: String? = nil) -> ArgumentHelp {
    // The default of a flag without a value is obvious.
    ArgumentHelp(valueName == nil ? setting.declaration.help : setting.help, valueName: valueName)
}
