// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives

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
    static let bleChannel = Setting(
        "ble-channel",
        .boolean,
        default: "yes",
        help: "Let a device that offers it connect by Bluetooth alone."
    )

    static let resolver = ConfigurationResolver(
        [
            AnySetting(tunnelDomain), AnySetting(vault), AnySetting(pinentry), AnySetting(tunnelTokenFile),
            AnySetting(cacert), AnySetting(bleChannel),
        ],
        ignoredVariables: ["HYBRID_LAB_*", "HYBRID_TEST_*", "HYBRID_WARNINGS_AS_ERRORS", "HYBRID_BIN"]
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

    /// The relay that is chosen, if one is.
    static func domain(_ settings: Configuration) throws(CommandFailure) -> TunnelDomain? {
        guard let named = try settings.value(tunnelDomain) else { return nil }
        guard let domain = TunnelDomain(argument: named) else {
            throw settings.failure(
                tunnelDomain,
                "\(named) is no tunnel domain; hybrid-relay domain shows which number has which host name"
            )
        }
        return domain
    }

    /// The file of the token for the relay that is chosen, if there is one.
    ///
    /// A token belongs to the relay that is named beside it: one from the file goes to no other relay that a variable
    /// or a flag names, and one from a variable to none that a flag names. A token that is itself overruled with the
    /// relay, or given for a relay that was remembered, is meant for it.
    static func tokenFile(for domain: TunnelDomain, _ settings: Configuration) throws(CommandFailure) -> String? {
        guard let file = try settings.value(tunnelTokenFile) else { return nil }
        let source = settings.source(of: tunnelTokenFile)
        guard rank(source) < rank(settings.source(of: tunnelDomain)) else { return file }
        let environment = ProcessEnvironment.variables
        let beside = try resolver.resolve(
            environment: rank(source) < rank(.variable("")) ? [:] : environment,
            file: try ConfigurationFile.read(named: nil, orElse: try usualFile(environment))
        )
        if let named = try beside.value(tunnelDomain), TunnelDomain(argument: named)?.id == domain.id { return file }
        StandardError.writeLine(
            "\(HybridAuth.programName): \(source) is not for \(domain.host) and is not sent; --tunnel-token-file names another"
        )
        return nil
    }

    /// The token that is in a file.
    static func token(_ file: String) throws(CommandFailure) -> BearerToken {
        try TokenFile.read(file, longest: BearerToken.maximumLength) { BearerToken($0) }
    }

    /// What overrules has the higher rank.
    private static func rank(_ source: ConfigurationSource) -> Int {
        switch source {
        case .flag: 3
        case .variable: 2
        case .file: 1
        case .defaultValue: 0
        }
    }
}
