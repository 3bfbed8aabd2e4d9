// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ServiceSupport

/// What can be set by flag, by variable (`HYBRID_TUNNEL_DOMAIN`), or in `auth.env`, which has the same names.
enum AuthSettings {
    static let tunnelDomain = Setting("tunnel-domain", .text, help: "The relay to use, by number or host name.")
    static let vault = Setting("vault", .path, help: "Where passkeys are kept; default $XDG_DATA_HOME/hybrid/vault.")
    static let pinentry = Setting(
        "pinentry",
        .path,
        help: "The program that asks for PIN and consent; default pinentry."
    )
    static let tunnelTokenFile = Setting("tunnel-token-file", .path, help: "A file with the relay's token.")
    static let cacert = Setting("cacert", .path, help: "Trust these certificates (PEM) instead of the system's.")

    static let resolver = ConfigurationResolver(
        [
            AnySetting(tunnelDomain), AnySetting(vault), AnySetting(pinentry), AnySetting(tunnelTokenFile),
            AnySetting(cacert),
        ],
        ignoredVariables: ["HYBRID_TEST_*", "HYBRID_WARNINGS_AS_ERRORS", "HYBRID_BIN"]
    )

    /// The file of this user.
    static func usualFile(_ environment: [String: String]) throws(CommandFailure) -> String {
        // A relative path is to be ignored, says the XDG specification.
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return folder + "/hybrid/auth.env" }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw CommandFailure("HOME is not set; set it, or XDG_CONFIG_HOME", status: .usage)
        }
        return home + "/.config/hybrid/auth.env"
    }

    /// What holds: flags, then variables, then the file, then defaults.
    static func resolve(_ flags: GivenFlags) throws(CommandFailure) -> Configuration {
        let environment = ProcessEnvironment.variables
        return try resolver.resolve(
            flags: flags,
            environment: environment,
            file: try ConfigurationFile.read(named: nil, orElse: try usualFile(environment))
        )
    }
}
