// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram

/// The flags of `serve` and `check-config`.
///
/// All values are strings, so that flags, variables and the file are parsed alike.
struct RelayFlags: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with HYBRID_* variables; default: \(RelaySettings.defaultFile), if it exists.",
            valueName: "file"
        )
    )
    var config: String?

    @Option(RelaySettings.listen) var listen: [String] = []
    @Option(RelaySettings.tlsCert) var tlsCert: String?
    @Option(RelaySettings.tlsKey) var tlsKey: String?
    @Flag(RelaySettings.plaintext) var plaintext = false
    @Flag(RelaySettings.insecurePublicPlaintext) var insecurePublicPlaintext = false
    @Option(RelaySettings.proxyProtocolFrom) var proxyProtocolFrom: [String] = []
    @Flag(RelaySettings.insecurePublicBalancers) var insecurePublicBalancers = false
    @Option(RelaySettings.adminListen) var adminListen: String?
    @Option(RelaySettings.adminHost) var adminHost: [String] = []
    @Option(RelaySettings.region) var region: String?
    @Option(RelaySettings.node) var node: String?
    @Flag(RelaySettings.cluster) var cluster = false
    @Option(RelaySettings.newTokenFile) var newTokenFile: String?
    @Option(RelaySettings.contactHost) var contactHost: String?
    @Option(RelaySettings.pushKeyFile) var pushKeyFile: String?
    @Option(RelaySettings.pushSubject) var pushSubject: String?
    @Option(RelaySettings.pushAllow) var pushAllow: [String] = []
    @Option(RelaySettings.pushCacert) var pushCacert: String?
    @Flag(RelaySettings.checkOrigin) var checkOrigin: Bool?
    @Option(RelaySettings.drainGrace) var drainGrace: String?
    @Option(RelaySettings.eventLoops) var eventLoops: String?
    @Option(RelaySettings.logFormat) var logFormat: String?
    @Option(RelaySettings.logLevel) var logLevel: String?

    @Option(LimitSettings.maxMessage) var maxMessage: String?
    @Option(LimitSettings.maxEarly) var maxEarly: String?
    @Option(LimitSettings.maxTunnelBytes) var maxTunnelBytes: String?
    @Option(LimitSettings.waitingTimeout) var waitingTimeout: String?
    @Option(LimitSettings.idleTimeout) var idleTimeout: String?
    @Option(LimitSettings.maxLifetime) var maxLifetime: String?
    @Option(LimitSettings.waitingPerTunnel) var waitingPerTunnel: String?
    @Option(LimitSettings.maxTunnels) var maxTunnels: String?
    @Option(LimitSettings.maxConnections) var maxConnections: String?
    @Option(LimitSettings.maxBuffered) var maxBuffered: String?
    @Option(LimitSettings.headTimeout) var headTimeout: String?
    @Option(LimitSettings.maxHead) var maxHead: String?
    @Option(LimitSettings.sourceOpen) var sourceOpen: String?
    @Option(LimitSettings.sourceConnectionsPerMinute) var sourceConnectionsPerMinute: String?
    @Option(LimitSettings.sourceNewPerMinute) var sourceNewPerMinute: String?
    @Option(LimitSettings.sourceListeners) var sourceListeners: String?
    @Option(LimitSettings.sourceNetworkFactor) var sourceNetworkFactor: String?
    @Option(LimitSettings.maxListeners) var maxListeners: String?
    @Option(LimitSettings.maxHeldContacts) var maxHeldContacts: String?
    @Option(LimitSettings.listenerLifetime) var listenerLifetime: String?
    @Option(LimitSettings.pushHostPerMinute) var pushHostPerMinute: String?
    @Option(LimitSettings.pingInterval) var pingInterval: String?
    @Option(LimitSettings.pingMisses) var pingMisses: String?

    /// The configuration file, which may be missing.
    var configurationFile: String { config ?? RelaySettings.defaultFile }

    /// Resolves the settings: flags, then variables, then the file, then defaults.
    func resolved() throws(CommandFailure) -> Configuration { try inspectedConfiguration().checked() }
}

/// The settings of `serve` with the same flags.
extension RelayFlags: CheckedSettings {
    static var checkConfigDiscussion: String {
        """
        Reads what serve would read and fails with the same errors, but does not listen. Listening addresses may be \
        missing, because a service manager may pass sockets.
        """
    }

    static var programName: String { HybridRelay.programName }

    func inspectedConfiguration() throws(CommandFailure) -> InspectedConfiguration {
        try RelaySettings.resolver.inspect(
            flags: GivenFlags(in: self, of: RelaySettings.resolver),
            environment: ProcessEnvironment.variables,
            file: try ConfigurationFile.read(named: config, orElse: RelaySettings.defaultFile)
        )
    }

    func check(_ configuration: Configuration) throws {
        let files = try RelayFiles(configuration)
        _ = try files.transport()
        _ = try files.tunnelTokens()
        _ = try ConfigurationCheck.listeners(configuration, files)
        _ = try ConfigurationCheck.node(configuration)
        _ = try ConfigurationCheck.adminAddress(configuration)
        _ = try ConfigurationCheck.balancers(configuration)
        _ = try PushPlan.gateway(configuration)
    }
}
