// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridProgram

/// The settings of `hybrid-client`: flags, environment variables such as `HYBRID_CACERT`, and the file `client.env`.
enum ClientSettings {
    /// The name of the file in the user's configuration folder.
    private static let fileName = "client.env"

    private static let resolver = ConfigurationResolver(
        [CeremonySettings.cacert, CeremonySettings.bleChannel],
        ignoredVariables: ConfigurationResolver.userVariables
    )

    /// Returns the settings without flags and all errors in them; see ``CeremonySettings``.
    static func inspect() throws(CommandFailure) -> InspectedConfiguration {
        try CeremonySettings.inspect(resolver, file: fileName)
    }

    /// Returns the effective settings; see ``CeremonySettings``.
    static func resolve(_ arguments: (any ParsableArguments)? = nil) throws(CommandFailure) -> Configuration {
        try CeremonySettings.resolve(resolver, arguments, file: fileName)
    }
}

/// The check of `check-config` for the settings of `hybrid-client` without flags.
struct ClientSettingsCheck: CheckedSettings {
    static let checkConfigDiscussion =
        "Reads environment variables and client.env as show-qr does, and fails with the same errors."

    static let programName = HybridClient.programName

    func inspectedConfiguration() throws(CommandFailure) -> InspectedConfiguration { try ClientSettings.inspect() }

    func check(_ settings: Configuration) throws {
        try settings.checkCertificates(CeremonySettings.cacert, with: TrustAnchors.check)
    }
}
