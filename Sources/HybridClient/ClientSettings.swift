// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridDataChannel

/// The settings of `hybrid-client`: flags, environment variables such as `HYBRID_CACERT`, and the file `client.env`.
enum ClientSettings {
    static let cacert = Setting("cacert", .path, help: "Trust these certificates (PEM) instead of the system's.")
    static let bleChannel = Setting(
        "ble-channel",
        .boolean,
        default: "no",
        help: "Also offer a connection over Bluetooth alone; some older phones reject such a code."
    )

    private static let resolver = ConfigurationResolver(
        [AnySetting(cacert), AnySetting(bleChannel)],
        // The same environment may contain settings of hybrid-auth.
        ignoredVariables: [
            "HYBRID_LAB_*", "HYBRID_TEST_*", "HYBRID_WARNINGS_AS_ERRORS", "HYBRID_BIN", "HYBRID_TUNNEL_DOMAIN",
            "HYBRID_VAULT", "HYBRID_PINENTRY", "HYBRID_TUNNEL_TOKEN_FILE", "HYBRID_PROMPT",
            "HYBRID_UPSTREAM",
        ]
    )

    /// Returns the effective settings.
    ///
    /// In descending order of precedence: flags, environment variables, the file, defaults.
    static func resolve(_ flags: GivenFlags) throws(CommandFailure) -> Configuration {
        let environment = ProcessEnvironment.variables
        var file: ConfigurationFile?
        if let path = ConfigurationFile.usualPath("client.env", environment) {
            file = try ConfigurationFile.read(named: nil, orElse: path)
        }
        let settings = try resolver.resolve(flags: flags, environment: environment, file: file)
        try settings.checkReadable(cacert)
        return settings
    }
}

/// The check of `check-config` for the settings of `hybrid-client` without flags.
struct ClientSettingsCheck: CheckedSettings {
    static let checkConfigDiscussion =
        "Reads environment variables and client.env as show-qr does, and fails with the same errors."

    func checkedConfiguration() throws -> Configuration {
        let settings = try ClientSettings.resolve(GivenFlags())
        try settings.checkCertificates(ClientSettings.cacert, with: TrustAnchors.check)
        return settings
    }
}
