// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram

/// `hybrid-auth listen`: waits for requests of linked computers.
struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Wait for requests of linked computers.",
        discussion: """
            Keeps a connection to the relay for each linked computer. A request appears as a notification. Bluetooth \
            and the tunnel are used only after a tap on "Sign in", and each request needs the PIN. A computer is muted \
            after three declined requests in ten minutes. Run it as a service: systemctl --user enable --now \
            hybrid-auth-listen

            With --push, new links need no connection: a push service (UnifiedPush) wakes this device. If all links \
            are of that kind, the program ends when it has nothing to do, and the session bus starts it for a message.
            """
    )

    @OptionGroup
    var relay: LinkRelayOptions

    @Option(AuthSettings.vault) var vault: String?
    @Option(AuthSettings.pinentry) var pinentry: String?
    @Option(AuthSettings.ask) var ask: String?
    @Flag(AuthSettings.localServices) var localServices: Bool?
    @Flag(AuthSettings.push) var push: Bool?
    @Option(AuthSettings.pushDistributor) var pushDistributor: String?

    @Option(help: ArgumentHelp("The relay that prepares push messages for new links.", valueName: "id|host"))
    var tunnelDomain: String?

    @Option(
        help: ArgumentHelp(
            "Exit after this many idle seconds, if only push messages can wake this device.",
            valueName: "s"
        )
    )
    var idleTimeout: Int = 60

    func validate() throws {
        guard (1...3600).contains(idleTimeout) else { throw ValidationError("--idle-timeout takes 1 to 3600 seconds.") }
    }

    func run() async throws {
        let settings = try AuthSettings.resolve(self)
        let runner = try ListenRunner(relay, idleTime: .seconds(idleTimeout), settings)
        let ending = await withTerminationSignals { try await runner.run() }
        switch ending.signal {
        // A service is stopped by SIGTERM, which is no failure.
        case .terminate?, .hangup?: return
        case .interrupt?: throw CommandFailure("interrupted", status: .interrupted)
        case nil: try ending.result.get()
        }
    }
}

/// Options for connections to the relays of links.
struct LinkRelayOptions: ParsableArguments {
    @OptionGroup
    var network: NetworkOptions<AdapterName>

    @Option(AuthSettings.tunnelTokenFile) var tunnelTokenFile: String?
    @Option(AuthSettings.cacert) var cacert: String?

    /// Returns the network settings for all relays.
    func configuration(_ settings: Configuration) throws -> NetworkConfiguration {
        try settings.checkCertificates(AuthSettings.cacert, with: TrustAnchors.check)
        return NetworkConfiguration(
            connectTo: network.connectTo,
            trustedCertificates: try settings.value(AuthSettings.cacert),
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
    }
}
