// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram

/// The settings of `hybrid-key`: flags, environment variables such as `HYBRID_PROMPT`, and the file `key.env`.
enum KeySettings {
    static let prompt = Setting(
        "prompt",
        .path("program"),
        help: "The program that shows the code; default: hybrid-prompt, if it is installed, otherwise a page in the "
            + "browser."
    )

    static let upstream = Setting(
        "upstream",
        .path("socket"),
        help: "The socket of another SSH agent, whose keys are offered, too."
    )

    /// The name of the file in the user's configuration folder.
    private static let fileName = "key.env"

    private static let resolver = ConfigurationResolver(
        [
            CeremonySettings.cacert, CeremonySettings.bleChannel, prompt, upstream,
        ],
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

    /// Returns the place where codes are shown without a terminal.
    static func display(_ settings: Configuration) throws(CommandFailure) -> CeremonyDisplay {
        .graphical(prompt: try settings.value(prompt), searchPath: ProcessEnvironment.variables["PATH"])
    }

    /// The paths of the known_hosts files of this user and the system.
    static var knownHosts: [String] {
        let home = ProcessEnvironment.variables["HOME"].map { ["\($0)/.ssh/known_hosts"] } ?? []
        return home + ["/etc/ssh/ssh_known_hosts"]
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

    static let programName = HybridKey.programName

    func inspectedConfiguration() throws(CommandFailure) -> InspectedConfiguration { try KeySettings.inspect() }

    func check(_ settings: Configuration) throws {
        try settings.checkCertificates(CeremonySettings.cacert, with: TrustAnchors.check)
    }
}
