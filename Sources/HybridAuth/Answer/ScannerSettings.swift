// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession

/// The settings with which a command answers the device whose code it has read: relay, network and radio.
struct ScannerSettings: Sendable {
    /// The relay to use.
    let domain: TunnelDomain
    /// The adapter; `nil` for the first that is on.
    let adapter: AdapterName?
    /// Time limit for the other device to connect.
    let timeout: Duration
    private let network: NetworkConfiguration
    /// Path of the file with the relay's token.
    private let tokenFile: String?
    private let acceptsBLEChannel: Bool

    /// The failure without a relay.
    static let noRelay = CommandFailure(
        "no relay is chosen; run hybrid-auth setup, or use --tunnel-domain with its number or host name",
        status: .usage
    )

    /// Reads the settings.
    ///
    /// - Throws: ``CommandFailure`` if a required setting is missing or unusable.
    init(_ settings: Configuration, _ options: NetworkOptions<AdapterName>, timeout: Duration) throws {
        self.timeout = timeout
        acceptsBLEChannel = try settings.value(AuthSettings.bleChannel)
        adapter = options.adapter
        network = NetworkConfiguration(
            connectTo: options.connectTo,
            trustedCertificates: try settings.value(AuthSettings.cacert),
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
        guard let domain = try AuthSettings.domain(settings) else { throw Self.noRelay }
        self.domain = domain
        tokenFile = try AuthSettings.tokenFile(for: domain, settings)
        try settings.checkCertificates(AuthSettings.cacert, with: TrustAnchors.check)
    }

    /// Reads the relay's token, if there is one.
    func token() throws(CommandFailure) -> BearerToken? {
        guard let tokenFile else { return nil }
        return try AuthSettings.token(tokenFile)
    }

    /// Returns a session by a radio.
    func session(
        _ token: BearerToken?,
        by radio: BluetoothRadio,
        answering relyingParties: Set<RelyingPartyID.Kind> = []
    ) -> AuthenticatorSession {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilClient = timeout
        return AuthenticatorSession(
            radio: radio,
            relay: RelayEndpoint(domain: domain, network: network),
            bearerToken: token,
            timeouts: timeouts,
            acceptsBLEChannel: acceptsBLEChannel,
            relyingParties: relyingParties
        )
    }
}
