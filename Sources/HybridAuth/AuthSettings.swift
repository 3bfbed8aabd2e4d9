// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridTPM

/// Settings from flags, from variables such as `HYBRID_TUNNEL_DOMAIN`, and from lines of `auth.env` with these names.
///
/// The user's `auth.env` overrides that of the distribution or administrator, ``systemFile``.
enum AuthSettings {
    /// Path of the file with the settings of all users.
    static let systemFile = "/etc/hybrid/auth.env"

    static let tunnelDomain = Setting(
        "tunnel-domain",
        .text("id|host"),
        help: "The relay to use, by number or host name."
    )
    static let vault = Setting(
        "vault",
        .path("dir"),
        help: "The directory of the vault; default $XDG_DATA_HOME/hybrid/vault."
    )
    static let pinentry = Setting(
        "pinentry",
        .path("program"),
        help: "The program that asks for the PIN and for consent; default: pinentry."
    )
    static let ask = Setting(
        "ask",
        SettingParser<String>(expected: "a path, or nothing for pinentry", placeholder: "program") { text in
            text.utf8.contains(0) ? nil : text
        },
        help: "The program that asks in a window in place of pinentry; default: hybrid-ask if it is installed."
    )
    static let prompt = Setting(
        "prompt",
        .path("program"),
        help: "The program that shows a code in a window; default: hybrid-prompt."
    )
    static let tunnelTokenFile = Setting("tunnel-token-file", .path("file"), help: "A file with the relay's token.")
    static let cacert = Setting(
        "cacert",
        .path("file"),
        help: "Trust these certificates (PEM) instead of the system's."
    )
    static let bleChannel = Setting(
        "ble-channel",
        .boolean,
        default: "yes",
        help: "Let a device that offers it connect by Bluetooth alone."
    )
    static let localServices = Setting(
        "local-services",
        .boolean,
        default: "yes",
        help: "Answer requests of OpenSSH (ssh:) and pam_u2f (pam://), not only of websites."
    )
    static let askToLink = Setting(
        "ask-to-link",
        .boolean,
        default: "yes",
        help: "Ask whether to link a device that offers it, so that it needs no code next time."
    )
    static let tpm = Setting(
        "tpm",
        SettingParser<TPMAddress>(expected: "a TPM such as device:/dev/tpmrm0") { TPMAddress(configuration: $0) },
        default: TPMAddress.standard.configuration,
        help: "The TPM that protects the PIN after hybrid-auth vault tpm enable."
    )
    static let push = Setting(
        "push",
        .boolean,
        default: "no",
        help: "Let a push service (UnifiedPush) wake this device for new links, instead of a connection to the relay."
    )
    static let pushDistributor = Setting(
        "push-distributor",
        .text("name"),
        help: "The push service, if there are several: the last part of its name on the session bus."
    )

    static let fingerAfterSuspend = Setting(
        "finger-after-suspend",
        .boolean,
        default: "no",
        help: "Let a fingerprint replace the PIN even after a suspend."
    )

    static let resolver = ConfigurationResolver(
        [
            tunnelDomain, vault, pinentry, ask, prompt, tunnelTokenFile, cacert, bleChannel, localServices, askToLink,
            tpm, push, pushDistributor, fingerAfterSuspend,
        ],
        ignoredVariables: ConfigurationResolver.userVariables
    )

    /// Returns the path of the user's `auth.env`.
    static func defaultFile(_ environment: [String: String]) throws(CommandFailure) -> String {
        guard let path = ConfigurationFile.defaultPath("auth.env", environment) else {
            throw CommandFailure("HOME is not set; set it, or XDG_CONFIG_HOME", status: .usage)
        }
        return path
    }

    /// Resolves the settings; flags override variables, which override the file, which overrides defaults.
    ///
    /// - Parameter arguments: A parsed command or its options.
    static func resolve(_ arguments: some ParsableArguments) throws(CommandFailure) -> Configuration {
        try resolve(GivenFlags(in: arguments, of: resolver))
    }

    /// Resolves the settings with the given flags.
    static func resolve(_ flags: GivenFlags) throws(CommandFailure) -> Configuration { try inspect(flags).checked() }

    /// Returns the settings with the given flags, and all errors in them.
    static func inspect(_ flags: GivenFlags) throws(CommandFailure) -> InspectedConfiguration {
        let environment = ProcessEnvironment.variables
        return try resolver.inspect(
            flags: flags,
            environment: environment,
            file: try ConfigurationFile.read(named: nil, orElse: try defaultFile(environment)),
            systemFile: try ConfigurationFile.read(named: nil, orElse: systemFile)
        )
    }

    /// Returns the tunnel domain of the chosen relay, if any.
    static func domain(_ settings: Configuration) throws(CommandFailure) -> TunnelDomain? {
        guard let named = try settings.value(tunnelDomain) else { return nil }
        guard let domain = TunnelDomain(argument: named) else {
            throw settings.failure(tunnelDomain, noDomain(named))
        }
        return domain
    }

    /// Returns the message about a text that is not a tunnel domain.
    static func noDomain(_ text: String) -> String {
        "\(text) is not a tunnel domain; for a list, run hybrid-relay domain list"
    }

    /// Returns the path of the token file for the chosen relay, if any.
    ///
    /// A token belongs to the relay that is set by the same source. A token from `auth.env` is not sent to a different
    /// relay that a variable or flag names, nor the system's token to one that the user's file names. A token from a
    /// variable is not sent to a different relay that a flag names. A token from the same source as the relay, or from a
    /// source with higher precedence, belongs to that relay.
    static func tokenFile(for domain: TunnelDomain, _ settings: Configuration) throws(CommandFailure) -> String? {
        guard let file = try settings.value(tunnelTokenFile) else { return nil }
        let source = settings.source(of: tunnelTokenFile)
        guard rank(source) < rank(settings.source(of: tunnelDomain)) else { return file }
        let environment = ProcessEnvironment.variables
        let isSystems = rank(source) == rank(.file(systemFile, line: 0, name: ""))
        let original = try resolver.resolve(
            environment: rank(source) < rank(.variable("")) ? [:] : environment,
            file: isSystems ? nil : try ConfigurationFile.read(named: nil, orElse: try defaultFile(environment)),
            systemFile: try ConfigurationFile.read(named: nil, orElse: systemFile)
        )
        if let named = try original.value(tunnelDomain), TunnelDomain(argument: named)?.id == domain.id { return file }
        report(
            "\(source) is not for \(domain.host) and is not sent; use --tunnel-token-file for the token of this relay"
        )
        return nil
    }

    /// Reads the token from a file.
    static func token(_ file: String) throws(CommandFailure) -> BearerToken {
        try TokenFile.read(file, longest: BearerToken.maximumLength) { BearerToken($0) }
    }

    /// Returns the precedence of a source; a higher one overrides a lower one.
    private static func rank(_ source: ConfigurationSource) -> Int {
        switch source {
        case .flag: 4
        case .variable: 3
        case .file(systemFile, _, _): 1
        case .file: 2
        case .defaultValue: 0
        }
    }
}

/// The settings of `hybrid-auth` for `check-config`, without flags.
struct AuthSettingsCheck: CheckedSettings {
    static let checkConfigDiscussion = """
        Reads environment variables and auth.env as scan does, and fails with the same errors. A setting without a \
        value is not an error here, because setup saves the relay.
        """

    static let programName = HybridAuth.programName

    func inspectedConfiguration() throws(CommandFailure) -> InspectedConfiguration {
        try AuthSettings.inspect(GivenFlags())
    }

    func check(_ settings: Configuration) throws {
        try settings.checkCertificates(AuthSettings.cacert, with: TrustAnchors.check)
        if let domain = try AuthSettings.domain(settings),
            let file = try AuthSettings.tokenFile(for: domain, settings)
        {
            _ = try AuthSettings.token(file)
        }
    }
}
