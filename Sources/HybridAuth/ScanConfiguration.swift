// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives

/// The resolved settings of a scan.
struct ScanConfiguration: Sendable {
    let input: ScanInput
    /// The confirmation that comes first if a link started the program.
    let link: LinkConfirmation?
    /// The relay to use.
    let domain: TunnelDomain
    let network: NetworkConfiguration
    /// The file of the relay's token.
    let tokenFile: String?
    /// The adapter; `nil` for the first that is on.
    let adapter: AdapterName?
    let acceptsBLEChannel: Bool
    /// The vault's directory; `nil` for the default.
    let vault: String?
    /// The pinentry program; `nil` for the default.
    let pinentry: String?
    /// Time until the other device must have connected.
    let timeout: Duration

    /// Creates the configuration of a command from its settings.
    ///
    /// - Throws: ``CommandFailure`` if a required setting is missing or unusable.
    init(_ command: Scan, _ settings: Configuration) throws {
        timeout = .seconds(command.timeout)
        input = command.inputs.input(cameraTimeout: timeout)
        pinentry = try settings.value(AuthSettings.pinentry)
        vault = try settings.value(AuthSettings.vault)
        acceptsBLEChannel = try settings.value(AuthSettings.bleChannel)
        adapter = command.network.adapter
        network = NetworkConfiguration(
            connectTo: command.network.connectTo,
            trustedCertificates: try settings.value(AuthSettings.cacert),
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
        link = try command.inputs.isLink ? LinkConfirmation(program: pinentry) : nil
        guard let domain = try AuthSettings.domain(settings) else {
            throw CommandFailure(
                "no relay is chosen; run hybrid-auth setup, or name yours with --tunnel-domain (a number, or its host "
                    + "name)",
                status: .usage
            )
        }
        self.domain = domain
        tokenFile = try AuthSettings.tokenFile(for: domain, settings)
        try settings.checkCertificates(AuthSettings.cacert, with: TrustAnchors.check)
    }
}
