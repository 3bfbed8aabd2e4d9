// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore
internal import Logging
internal import NIOCore

/// All settings of a relay, from flags, variables and the configuration file.
///
/// For example, `--max-message` is the flag of the setting `max-message`, and `HYBRID_MAX_MESSAGE` is its variable and
/// its key in the file. The defaults of limits are those of ``RelayLimits``.
enum RelaySettings {
    /// The file that is read if none is named.
    static let defaultFile = "/etc/hybrid/relay.env"

    static let listen = Setting(
        list: "listen",
        SettingParser(expected: "HOST:PORT", placeholder: "host:port", parse: HostPort.init(listening:)),
        help: "Address to listen on, HOST:PORT; can be repeated. Not needed with systemd socket activation."
    )
    static let tlsCert = Setting(
        "tls-cert",
        .path("file"),
        help: "Certificate chain in PEM, the relay's own certificate first."
    )
    static let tlsKey = Setting("tls-key", .path("file"), help: "Private key in PEM, not encrypted.")
    static let plaintext = flag("plaintext", "Use no TLS: on loopback addresses, or behind a load balancer.")
    static let insecurePublicPlaintext = flag(
        "insecure-public-plaintext",
        "Allow --plaintext on addresses that other computers can reach."
    )
    static let proxyProtocolFrom = Setting(
        list: "proxy-protocol-from",
        SettingParser(expected: "an address or a block such as 192.0.2.0/24", placeholder: "block") {
            try? AddressBlock(parsing: $0)
        },
        help: "Load balancers, as addresses or blocks. Their connections must begin with a PROXY header, v1 or v2."
    )
    static let insecurePublicBalancers = flag(
        "insecure-public-balancers",
        "Allow addresses of the public internet in --proxy-protocol-from."
    )
    static let adminListen = Setting(
        "admin-listen",
        SettingParser(expected: "HOST:PORT or PORT", placeholder: "host:port", parse: HostPort.init(forMetrics:)),
        help: "Address for /metrics, /healthz and /readyz: HOST:PORT, or PORT on 127.0.0.1."
    )
    static let adminHost = Setting(
        list: "admin-host",
        SettingParser(expected: "a host name", placeholder: "host") { text in
            HostName.isValid(text) ? text.lowercased() : nil
        },
        help:
            "Host names under which the admin listener answers, besides addresses and localhost; can be repeated."
    )
    static let node = Setting(
        "node",
        .number(0...0xFFFF, "number"),
        help:
            "This relay's number in its region, 0 to 1023. Without --region, up to 65535: the region times 1024, plus the "
            + "number."
    )
    static let region = Setting(
        "region",
        .number(0...63, "number"),
        help:
            "The number of this relay's region, 0 to 63; needs --cluster. Balancers of other regions send their clients here."
    )
    static let cluster = flag("cluster", "This relay is one of several behind a load balancer; needs --node.")
    static let newTokenFile = Setting(
        "new-token-file",
        .path("file"),
        help: "Allow only phones with a token of this file to open tunnels; see hybrid-relay new-token."
    )
    static let contactHost = Setting(
        "contact-host",
        SettingParser(expected: "a host name in lower case, such as cable.example.org", placeholder: "host") { text in
            // Phones sign exactly this text.
            HostName.isValid(text) && text == text.lowercased() ? text : nil
        },
        help: "The host of the relay's tunnel domain in lower case; offers linked phones, which prove their IDs for it."
    )
    static let pushKeyFile = Setting(
        "push-key-file",
        .path("file"),
        help:
            "Wake phones through their push servers, with the keys of this file; see hybrid-relay new-push-keys. Needs "
            + "--contact-host and --push-subject."
    )
    static let pushSubject = Setting(
        "push-subject",
        SettingParser(expected: "mailto:ADDRESS or an https URL", placeholder: "url") { text in
            let isURL = ["mailto:", "https://"].contains { text.hasPrefix($0) && text != $0 }
            return isURL && text.utf8.count <= 256 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
        },
        help: "Address of the relay's operator for operators of push servers, mailto:ADDRESS or an https URL."
    )
    static let pushAllow = Setting(
        list: "push-allow",
        SettingParser(expected: "HOST[:PORT][/PATH]", placeholder: "host[:port][/path]") { AllowedPushServer($0) },
        help:
            "Push servers in your own network, HOST[:PORT], or with the beginning of the paths that may be requested, "
            + "HOST[:PORT]/PATH; can be repeated. Others must be on the public internet."
    )
    static let pushCacert = Setting(
        "push-cacert",
        .path("file"),
        help: "Certificates (PEM) to trust for the push servers of --push-allow instead of the system's."
    )
    static let checkOrigin = Setting(
        "check-origin",
        .boolean,
        default: "yes",
        help: "Refuse requests with an Origin that names another host, such as those of other websites' pages."
    )
    static let drainGrace = Setting(
        "drain-grace",
        .seconds(.zero ... .seconds(86_400)),
        default: "60",
        help: "Seconds that open tunnels have to finish after SIGTERM."
    )
    static let eventLoops = Setting(
        "event-loops",
        .number(1...1024),
        help: "Number of threads that carry tunnels. Default: the number of CPUs that the process may use."
    )
    static let logFormat = Setting(
        "log-format",
        .choice(["console", "json"]),
        default: "console",
        help: "Format of log lines."
    )
    static let logLevel = Setting(
        "log-level",
        SettingParser(expected: "trace, debug, info, notice, warning, error or critical", placeholder: "level") {
            Logger.Level(rawValue: $0)
        },
        default: "info",
        help: "Lowest level of log lines."
    )

    /// Settings other than limits, which are read only at the start.
    static let general: [any AnySetting] = [
        listen, tlsCert, tlsKey, plaintext, insecurePublicPlaintext, proxyProtocolFrom, insecurePublicBalancers,
        adminListen, adminHost, region, node, cluster, newTokenFile, contactHost, pushKeyFile, pushSubject, pushAllow,
        pushCacert, checkOrigin, drainGrace,
        eventLoops, logFormat, logLevel,
    ]

    private static func flag(_ name: String, _ help: String) -> Setting<Bool> {
        Setting(name, .boolean, default: "no", help: help)
    }

    /// The resolver of all settings.
    static let resolver = ConfigurationResolver(
        general + LimitSettings.all,
        ignoredVariables: ["HYBRID_LAB_*", "HYBRID_TEST_*", "HYBRID_WARNINGS_AS_ERRORS"]
    )
}

extension HostPort {
    /// Parses an address to listen on, `HOST:PORT`; port 0 means any free port.
    init?(listening text: String) {
        self.init(text, ports: 0...UInt16.max, allowsZone: true)
        guard port != nil else { return nil }
    }

    /// Parses an address for metrics, `HOST:PORT`, or `PORT` on the loopback address.
    init?(forMetrics text: String) {
        if let port = UInt16(text) {
            self.init(host: "127.0.0.1", port: Int(port))
        } else {
            self.init(listening: text)
        }
    }

    /// Parses a push server, `HOST[:PORT]`, in lower case; the default port is 443.
    init?(pushServer text: String) {
        guard let target = HostPort(text), IPAddress(target.host) != nil || HostName.isValid(target.host) else {
            return nil
        }
        self.init(host: target.host.lowercased(), port: target.port ?? HTTPSURL.defaultPort)
    }

    /// Returns the socket address, after resolving a host name.
    func resolved() throws(CommandFailure) -> SocketAddress {
        do {
            return try SocketAddress.makeAddressResolvingHost(host, port: port ?? 0)
        } catch {
            throw CommandFailure("cannot resolve \(host)", status: .unavailable)
        }
    }
}
