// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDoctor
internal import HybridNetwork
internal import HybridPrimitives

/// The command `hybrid-client doctor`, which checks the requirements of a ceremony on this computer.
struct ClientDoctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what would keep a phone from signing in here.",
        discussion: """
            Checks Bluetooth, the network and the relays in the order in which a ceremony needs them, and then the \
            security key of hybrid-key and the linked phones. Prints one line for each check on standard output, with a remedy below. Sends nothing but a test advert, if there are two \
            adapters, and to each relay a request for a tunnel that does not exist. Exits with 0 if a sign-in could \
            work, otherwise with the exit code of show-qr for the first obstacle.
            """
    )

    @Option(
        help: ArgumentHelp("A relay that must work, by number or host name.", valueName: "id|host"),
        transform: { text in
            guard let domain = TunnelDomain(argument: text) else {
                throw ValidationError("--relay takes a tunnel domain: a number up to 65535, or its host name.")
            }
            return domain
        }
    )
    var relay: TunnelDomain?

    @OptionGroup
    var options: DoctorOptions

    func run() async throws {
        let network = NetworkConfiguration(
            connectTo: options.network.connectTo,
            trustedCertificates: try ClientSettings.resolve(options).value(CeremonySettings.cacert),
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
        try await options.run { run in
            // The relays of Google and Apple.
            let vendors = [0, 1].compactMap { TunnelDomain(id: $0) }
            let relays = RelayChecks(
                required: relay,
                others: vendors,
                network: network,
                budget: run.budget,
                remedyForDistrust: "omit --cacert for phones that use this relay"
            )
            let bluetooth = BluetoothChecks(
                adapter: options.network.adapter,
                role: .scanner,
                budget: run.budget,
                record: run.record
            )
            // Both run at the same time, but are reported in the order of a ceremony.
            async let relayFindings = relays.run()
            let isVirtual = try await bluetooth.run()
            for finding in try await relayFindings { run.record(finding) }
            for finding in SecurityKeyChecks.run() + LinkChecks.run() { run.record(finding) }
            return isVirtual
        }
    }
}
