// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport

/// What can be set by flag, by variable (`HYBRID_CACERT`), or in `client.env`, which has the same names.
enum ClientSettings {
    static let cacert = Setting("cacert", .path, help: "Trust these certificates (PEM) instead of the system's.")
    static let bleChannel = Setting(
        "ble-channel",
        .boolean,
        default: "no",
        help: "Offer the phone to connect by Bluetooth alone, too; some older phones refuse such a code."
    )

    private static let resolver = ConfigurationResolver(
        [AnySetting(cacert), AnySetting(bleChannel)],
        // hybrid-auth's settings may stand in the same environment.
        ignoredVariables: [
            "HYBRID_LAB_*", "HYBRID_TEST_*", "HYBRID_WARNINGS_AS_ERRORS", "HYBRID_BIN", "HYBRID_TUNNEL_DOMAIN",
            "HYBRID_VAULT", "HYBRID_PINENTRY", "HYBRID_TUNNEL_TOKEN_FILE",
        ]
    )

    /// What holds: flags, then variables, then the file, then defaults.
    static func resolve(_ flags: GivenFlags) throws(CommandFailure) -> Configuration {
        let environment = ProcessEnvironment.variables
        let file = try usualFile(environment).map { path throws(CommandFailure) in
            try ConfigurationFile.read(named: nil, orElse: path)
        }
        let settings = try resolver.resolve(flags: flags, environment: environment, file: file ?? nil)
        try checkCertificates(settings)
        return settings
    }

    /// Who named the certificates elsewhere than on the command line does not see the path, so it is told where.
    private static func checkCertificates(_ settings: Configuration) throws(CommandFailure) {
        if case .flag = settings.source(of: cacert) { return }
        guard let path = try settings.value(cacert), access(path, R_OK) != 0 else { return }
        throw settings.failure(cacert, "\(path) can't be read: \(String(cString: strerror(errno)))")
    }

    /// The file of this user; who has no home has none.
    private static func usualFile(_ environment: [String: String]) -> String? {
        // A relative path is to be ignored, says the XDG specification.
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return folder + "/hybrid/client.env" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return home + "/.config/hybrid/client.env"
    }
}
