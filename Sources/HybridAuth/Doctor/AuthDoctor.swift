// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridAsk
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDoctor
internal import HybridNetwork
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// The command `hybrid-auth doctor`, which checks the requirements of `scan` and `listen` on this computer.
struct AuthDoctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what would keep this device from signing in elsewhere.",
        discussion: """
            Checks Bluetooth, the network and the relays, the camera, the prompt program, the vault, and then what linked \
            computers need, in this order. Prints one line for each check on standard output, with a remedy below. \
            Asks for no PIN and changes nothing. Sends a test advert, and to each relay a request for a tunnel that \
            does not exist. Exits with 0 if a sign-in could work, otherwise with the exit code of scan for the first \
            problem.
            """
    )

    @Option(AuthSettings.vault) var vault: String?
    @Option(AuthSettings.tunnelDomain) var tunnelDomain: String?
    @Option(AuthSettings.pinentry) var pinentry: String?
    @Option(AuthSettings.ask) var ask: String?
    @Option(AuthSettings.tunnelTokenFile) var tunnelTokenFile: String?

    @OptionGroup
    var options: DoctorOptions

    func run() async throws {
        let settings = try AuthSettings.resolve(self)
        let domain = try AuthSettings.domain(settings)
        let location = try VaultLocation(
            path: try settings.value(AuthSettings.vault),
            tpm: try settings.value(AuthSettings.tpm)
        )
        let program = try settings.value(AuthSettings.pinentry)
        let askProgram = AskProgram.path(try settings.value(AuthSettings.ask), ProcessEnvironment.variables)
        let certificates = try settings.value(AuthSettings.cacert)
        try await options.run { run in
            let links = LinkedComputerChecks()
            let prompts = PromptChecks(
                program: program,
                askProgram: askProgram,
                needsWindow: !links.links.isEmpty,
                budget: run.budget
            )
            let bluetooth = BluetoothChecks(
                adapter: options.network.adapter,
                role: .advertiser,
                budget: run.budget,
                record: run.record
            )
            let relays = RelayChecks(
                required: domain,
                others: links.relays,
                network: NetworkConfiguration(
                    connectTo: options.network.connectTo,
                    trustedCertificates: certificates,
                    proxies: ProxySettings(environment: ProcessEnvironment.variables)
                ),
                budget: run.budget,
                remedyForDistrust: "omit --cacert, or remove it from auth.env"
            )
            let fingerprint = FingerprintChecks(location, run.budget)
            let push = PushChecks(
                isOn: try settings.value(AuthSettings.push),
                distributor: try settings.value(AuthSettings.pushDistributor),
                domain: domain,
                links: links,
                budget: run.budget
            )
            // All run at the same time, but are reported in the order of a ceremony.
            async let relayFindings = relays.run()
            async let fingerprintFindings = fingerprint.run()
            async let cameraFinding = CameraChecks.run(run.budget)
            async let promptFindings = prompts.run()
            async let tpmFindings = TPMChecks.run(location, run.budget)
            async let serviceFindings = [
                links.service(run.budget), push.service(), push.subscription(), prompts.notifications(),
            ]
            let isVirtual = try await bluetooth.run()
            for finding in try await relayFindings + Self.relayChoice(domain, settings) { run.record(finding) }
            run.record(try await cameraFinding)
            for finding in try await promptFindings { run.record(finding) }
            for finding in VaultChecks.run(location, isVirtual: isVirtual) { run.record(finding) }
            for finding in try await tpmFindings { run.record(finding) }
            for finding in try await fingerprintFindings { run.record(finding) }
            for finding in links.findings { run.record(finding) }
            for finding in try await serviceFindings { run.record(finding) }
            return isVirtual
        }
    }

    /// Returns findings about the choice of a relay, and about the token if one is set.
    private static func relayChoice(_ domain: TunnelDomain?, _ settings: Configuration) -> [DoctorFinding] {
        guard let domain else {
            return [DoctorFinding(.relay, .failed, ScannerSettings.noRelay)]
        }
        do throws(CommandFailure) {
            guard let file = try AuthSettings.tokenFile(for: domain, settings) else { return [] }
            _ = try AuthSettings.token(file)
            return [DoctorFinding(.relayToken, .fine, "\(file) has one for \(domain.host)")]
        } catch {
            return [DoctorFinding(.relayToken, .failed, error)]
        }
    }
}
