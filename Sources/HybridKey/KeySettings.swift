// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridKeyService
internal import HybridPrimitives

/// The settings of `hybrid-key`: flags, environment variables such as `HYBRID_PROMPT`, and the file `key.env`.
enum KeySettings {
    static let cacert = Setting("cacert", .path, help: "Trust these certificates (PEM) instead of the system's.")
    static let bleChannel = Setting(
        "ble-channel",
        .boolean,
        default: "no",
        help: "Also offer a connection over Bluetooth alone; some older phones reject such a code."
    )
    static let prompt = Setting(
        "prompt",
        .path,
        help: "The program that shows the code; default: hybrid-prompt, if it is installed, else a page in the browser."
    )

    static let upstream = Setting(
        "upstream",
        .path,
        help: "The socket of another SSH agent, whose keys are offered, too."
    )

    private static let resolver = ConfigurationResolver(
        [AnySetting(cacert), AnySetting(bleChannel), AnySetting(prompt), AnySetting(upstream)],
        // The same environment may contain settings of the other programs.
        ignoredVariables: [
            "HYBRID_LAB_*", "HYBRID_TEST_*", "HYBRID_WARNINGS_AS_ERRORS", "HYBRID_BIN", "HYBRID_TUNNEL_DOMAIN",
            "HYBRID_VAULT", "HYBRID_PINENTRY", "HYBRID_TUNNEL_TOKEN_FILE",
        ]
    )

    /// Returns the effective settings.
    ///
    /// In descending order of precedence: flags, environment variables, the file, defaults.
    static func resolve(_ flags: GivenFlags) throws(CommandFailure) -> Configuration {
        let environment = ProcessEnvironment.variables
        var file: ConfigurationFile?
        if let path = ConfigurationFile.usualPath("key.env", environment) {
            file = try ConfigurationFile.read(named: nil, orElse: path)
        }
        let settings = try resolver.resolve(flags: flags, environment: environment, file: file)
        try settings.checkReadable(cacert)
        return settings
    }

    /// Returns the folder with keys and journal, `hybrid/key` in the user's XDG state directory.
    static func stateFolder() throws(CommandFailure) -> StateFolder {
        let environment = ProcessEnvironment.variables
        guard let folder = ProcessEnvironment.directory("XDG_STATE_HOME", belowHome: ".local/state", environment) else {
            throw CommandFailure("HOME is not set; set it, or XDG_STATE_HOME", status: .usage)
        }
        return try StateFolder(path: "\(folder)/key")
    }
}

/// The check of `check-config` for the settings of `hybrid-key` without flags.
struct KeySettingsCheck: CheckedSettings {
    static let checkConfigDiscussion =
        "Reads environment variables and key.env as the agent does, and fails with the same errors."

    func checkedConfiguration() throws -> Configuration {
        let settings = try KeySettings.resolve(GivenFlags())
        try settings.checkCertificates(KeySettings.cacert, with: TrustAnchors.check)
        return settings
    }
}
