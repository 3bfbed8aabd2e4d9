// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram

/// Options of `passkeys show` for the site's page on which users manage their passkeys.
struct SitePageOptions: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Print the link of the site's page for passkeys instead.",
            discussion: "The site and the network see the request, so they learn that there is a passkey."
        )
    )
    var manage = false

    @Option(AuthSettings.cacert) var cacert: String?

    @Option(
        help: ArgumentHelp("Connect elsewhere (like curl --connect-to).", valueName: "host:port:host2:port2"),
        transform: ConnectTo.argument
    )
    var connectTo: [ConnectTo] = []

    func validate() throws {
        guard manage || cacert == nil && connectTo.isEmpty else {
            throw ValidationError("--cacert and --connect-to need --manage.")
        }
    }

    /// Retrieves the pages of a site.
    ///
    /// - Throws: ``CommandFailure`` that names the URL of the site's file.
    func pages(of site: RelyingPartyID) async throws -> PasskeyEndpoints {
        guard site.kind == .domain else {
            throw CommandFailure("\(SafeText(quoting: site.text)) is not a website, so it has no page", status: .usage)
        }
        let network = NetworkConfiguration(
            connectTo: connectTo,
            trustedCertificates: try AuthSettings.resolve(self).value(AuthSettings.cacert),
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
        do {
            return try await PasskeyEndpoints.retrieve(host: site.text, network)
        } catch let error as WellKnownFileError {
            throw Self.unusable(site, error.reason)
        }
    }

    /// Returns the output: the link, or an object with all links.
    func text(_ pages: PasskeyEndpoints, of site: RelyingPartyID, json: Bool) throws(CommandFailure) -> String {
        if json {
            let members = [("manage", pages.manage), ("enroll", pages.enroll)]
            return JSONText.object(members.map { ($0, $1.map(JSONText.string) ?? .null) }).description
        }
        return try Self.managementPage(pages, of: site)
    }

    /// Retrieves the link of a site's page on which users manage their passkeys.
    func managementPage(of site: RelyingPartyID) async throws -> String {
        try Self.managementPage(try await pages(of: site), of: site)
    }

    private static func managementPage(
        _ pages: PasskeyEndpoints,
        of site: RelyingPartyID
    ) throws(CommandFailure) -> String {
        guard let manage = pages.manage else { throw unusable(site, "it names no page for managing passkeys") }
        return manage
    }

    private static func unusable(_ site: RelyingPartyID, _ reason: String) -> CommandFailure {
        CommandFailure(
            "the site names no page: https://\(site.text)\(PasskeyEndpoints.path) is unusable: \(reason); look in the "
                + "settings of your account there",
            code: "no-passkey-page",
            status: .unavailable
        )
    }
}
