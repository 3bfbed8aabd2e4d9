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

    @Option(help: ArgumentHelp("\(AuthSettings.vault.help)", valueName: "dir"))
    var vault: String?

    @Option(help: ArgumentHelp("\(AuthSettings.pinentry.help)", valueName: "program"))
    var pinentry: String?

    @Flag(inversion: .prefixedNo, help: ArgumentHelp(stringLiteral: AuthSettings.localServices.help))
    var localServices: Bool?

    @Flag(inversion: .prefixedNo, help: ArgumentHelp(stringLiteral: AuthSettings.push.help))
    var push: Bool?

    @Option(help: ArgumentHelp("\(AuthSettings.pushDistributor.help)", valueName: "name"))
    var pushDistributor: String?

    @Option(help: ArgumentHelp("The relay that prepares push messages for new links.", valueName: "id|host"))
    var tunnelDomain: String?

    @Option(
        help: ArgumentHelp(
            "Time without work after which the program ends, if only push messages can wake this device.",
            valueName: "s"
        )
    )
    var idleTimeout: Int = 60

    func validate() throws {
        guard (1...3600).contains(idleTimeout) else { throw ValidationError("--idle-timeout takes 1 to 3600 seconds.") }
    }

    func run() async throws {
        var flags = relay.flags
        flags.set(AuthSettings.push, push)
        flags.set(AuthSettings.pushDistributor, pushDistributor)
        flags.set(AuthSettings.tunnelDomain, tunnelDomain)
        flags.set(AuthSettings.vault, vault)
        flags.set(AuthSettings.pinentry, pinentry)
        flags.set(AuthSettings.localServices, localServices)
        let settings = try AuthSettings.resolve(flags)
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

    @Option(help: ArgumentHelp("\(AuthSettings.tunnelTokenFile.help)", valueName: "file"))
    var tunnelTokenFile: String?

    @Option(help: ArgumentHelp("\(AuthSettings.cacert.help)", valueName: "file"))
    var cacert: String?

    /// The flags that were given.
    var flags: GivenFlags {
        var flags = GivenFlags()
        flags.set(AuthSettings.tunnelTokenFile, tunnelTokenFile)
        flags.set(AuthSettings.cacert, cacert)
        return flags
    }

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
