// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram

/// The settings of `hybrid-remote`: environment variables such as `HYBRID_LOCAL`, and the file `remote.env`.
enum RemoteSettings {
    static let local = Setting(
        "local",
        .boolean,
        default: "no",
        help: "Use hybrid-client on this computer, for a browser near the phone."
    )

    private static let resolver = ConfigurationResolver(
        [local],
        // The same environment may contain settings of the other programs.
        ignoredVariables: ["HYBRID_*"]
    )

    /// Returns the settings and all errors in them.
    static func inspect() throws(CommandFailure) -> InspectedConfiguration {
        let environment = ProcessEnvironment.variables
        var file: ConfigurationFile?
        if let path = ConfigurationFile.defaultPath("remote.env", environment) {
            file = try ConfigurationFile.read(named: nil, orElse: path)
        }
        return try resolver.inspect(environment: environment, file: file)
    }

    /// True if requests are for `hybrid-client` on this computer.
    static var isLocal: Bool { get throws { try inspect().checked().value(local) } }
}

/// The check of `check-config`.
struct RemoteSettingsCheck: CheckedSettings {
    static let checkConfigDiscussion =
        "Reads environment variables and remote.env as the browser's helper does, and fails with the same errors."

    static let programName = HybridRemote.programName

    func inspectedConfiguration() throws(CommandFailure) -> InspectedConfiguration { try RemoteSettings.inspect() }

    func check(_ settings: Configuration) throws {}
}
