// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridRelayCore
internal import Logging
internal import NIOCore

/// Everything that can be set for a relay: by flag, by variable, or in its file.
///
/// The name `max-message` is the flag `--max-message` and the variable `HYBRID_MAX_MESSAGE`, which the file uses too.
/// Defaults of limits are those of ``RelayLimits``.
enum RelaySettings {
    /// The file that is read where none is named.
    static let usualFile = "/etc/hybrid/relay.env"

    static let listen = Setting(
        list: "listen",
        SettingParser(expected: "HOST:PORT", parse: ListenAddress.init(argument:)),
        help: "Where to listen, HOST:PORT; may be given more than once. A service manager's sockets need none."
    )
    static let tlsCert = Setting("tls-cert", .path, help: "Certificate chain in PEM, the relay's own first.")
    static let tlsKey = Setting("tls-key", .path, help: "Private key in PEM, not encrypted.")
    static let plaintext = Setting(
        "plaintext",
        .boolean,
        default: "no",
        help: "Speak without TLS: on loopback addresses, or behind a balancer."
    )
    static let insecurePublicPlaintext = Setting(
        "insecure-public-plaintext",
        .boolean,
        default: "no",
        help: "Allow --plaintext where other machines can reach it."
    )
    static let proxyProtocolFrom = Setting(
        list: "proxy-protocol-from",
        SettingParser(expected: "an address or a block such as 192.0.2.0/24") { try? AddressBlock(parsing: $0) },
        help: "Balancers, as addresses or blocks; their connections must begin with a PROXY header, v1 or v2."
    )
    static let adminListen = Setting(
        "admin-listen",
        SettingParser(expected: "HOST:PORT or PORT", parse: AdminAddress.parse),
        help: "Where to answer /metrics, /healthz and /readyz: HOST:PORT, or PORT on this machine alone."
    )
    static let node = Setting("node", .number(0...0xFFFF), help: "This relay's number among several, 0 to 65535.")
    static let cluster = Setting(
        "cluster",
        .boolean,
        default: "no",
        help: "One of several relays behind a balancer; needs --node."
    )
    static let newTokenFile = Setting(
        "new-token-file",
        .path,
        help: "Let only those phones open tunnels that have a token of this file; see hybrid-relay new-token."
    )
    static let checkOrigin = Setting(
        "check-origin",
        .boolean,
        default: "no",
        help: "Refuse requests whose Origin, if they have one, names another host."
    )
    static let drainGrace = Setting(
        "drain-grace",
        .seconds(.zero ... .seconds(86_400)),
        default: "60",
        help: "How long SIGTERM lets tunnels finish, in seconds."
    )
    static let eventLoops = Setting(
        "event-loops",
        .number(1...1024),
        help: "How many threads carry tunnels; as many as there are cores."
    )
    static let logFormat = Setting("log-format", .choice(["console", "json"]), default: "console", help: "Log lines.")
    static let logLevel = Setting(
        "log-level",
        SettingParser(expected: "trace, debug, info, notice, warning, error or critical") {
            Logger.Level(rawValue: $0)
        },
        default: "info",
        help: "From which level on lines are written."
    )

    /// What is not a limit.
    static let general: [AnySetting] = [
        AnySetting(listen), AnySetting(tlsCert), AnySetting(tlsKey), AnySetting(plaintext),
        AnySetting(insecurePublicPlaintext), AnySetting(proxyProtocolFrom), AnySetting(adminListen), AnySetting(node),
        AnySetting(cluster), AnySetting(newTokenFile), AnySetting(checkOrigin), AnySetting(drainGrace),
        AnySetting(eventLoops), AnySetting(logFormat), AnySetting(logLevel),
    ]

    /// All of them.
    static let resolver = ConfigurationResolver(
        general + LimitSettings.all,
        ignoredVariables: ["HYBRID_LAB_*", "HYBRID_TEST_*", "HYBRID_WARNINGS_AS_ERRORS"]
    )
}

/// The address of the admin listener: a port alone means this machine alone.
enum AdminAddress {
    static func parse(_ text: String) -> ListenAddress? {
        if let port = UInt16(text) { return ListenAddress(host: "127.0.0.1", port: Int(port)) }
        return ListenAddress(argument: text)
    }
}
