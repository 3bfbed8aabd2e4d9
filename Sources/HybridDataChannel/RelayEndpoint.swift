// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE

/// How to reach a relay: by its name unless told otherwise.
public struct RelayEndpoint: Sendable {
    /// The relay.
    public var domain: TunnelDomain
    /// Detours, as curl's `--connect-to`, of which the first that applies is taken; name and certificate checks stay
    /// those of the domain.
    public var detours: [ConnectTo]
    /// A file of certificates (PEM) trusted instead of the system's, as curl's `--cacert`.
    public var trustedCertificates: String?
    /// Which proxies lead to which hosts.
    public var proxies: ProxySettings
    /// How long each step may take.
    public var timeouts = Timeouts()
    /// How names become addresses.
    var lookup = NameLookup.system

    /// The port of every tunnel service.
    public static let port = 443

    /// A relay reached by its name, by a detour or through a proxy.
    public init(
        domain: TunnelDomain,
        detours: [ConnectTo] = [],
        trustedCertificates: String? = nil,
        proxies: ProxySettings = .none
    ) {
        self.domain = domain
        self.detours = detours
        self.trustedCertificates = trustedCertificates
        self.proxies = proxies
    }

    /// How long each step may take, in seconds; where a relay sends to another, it counts anew for each.
    public struct Timeouts: Sendable {
        /// Name resolution and TCP.
        public var connect = 10
        /// A proxy's answer, TLS and the WebSocket request together.
        public var open = 15

        /// The usual bounds.
        public init() {}
    }

    /// Where connections to a host, the relay or one it sends to, go in the end.
    func target(of host: String) -> Target {
        guard let detour = detour(of: host) else { return Target(host: host, port: Self.port, isChosen: false) }
        return Target(host: detour.toHost ?? host, port: detour.toPort ?? Self.port, isChosen: detour.toHost != nil)
    }

    /// What a host is called where it can't be reached or is not trusted: its name, and the detour to it.
    func name(of host: String) -> String {
        guard detour(of: host) != nil else { return host }
        let target = target(of: host)
        return "\(host) (by --connect-to \(HostAndPort.text(target.host, target.port)))"
    }

    private func detour(of host: String) -> ConnectTo? {
        detours.first { $0.applies(to: host, port: Self.port) }
    }

    /// The other end of a connection.
    struct Target: Equatable {
        let host: String
        let port: Int
        /// Whether a detour named the host.
        let isChosen: Bool
    }
}

/// `HOST:PORT:HOST2:PORT2`: connections meant for the first go to the second; an empty part means *any* on the
/// left and *the same* on the right.
public struct ConnectTo: Hashable, Sendable {
    let fromHost: String?
    let fromPort: Int?
    let toHost: String?
    let toPort: Int?

    /// Reads curl's form; IPv6 addresses stand in brackets.
    ///
    /// `nil` if it has another form.
    public init?(_ text: String) {
        var parts: [String] = []
        var current = ""
        var bracketed = false
        var closed = false
        for character in text {
            switch character {
            case ":" where !bracketed:
                parts.append(current)
                current = ""
                closed = false
            case _ where closed: return nil
            case "[" where current.isEmpty && !bracketed: bracketed = true
            case "]" where bracketed: (bracketed, closed) = (false, true)
            default: current.append(character)
            }
        }
        parts.append(current)
        guard parts.count == 4, !bracketed else { return nil }
        func port(_ text: String) -> (ok: Bool, value: Int?) {
            guard !text.isEmpty else { return (true, nil) }
            // `UInt16` would take a sign, too.
            guard text.first != "+", let number = UInt16(text), number > 0 else { return (false, nil) }
            return (true, Int(number))
        }
        let (from, to) = (port(parts[1]), port(parts[3]))
        guard from.ok, to.ok else { return nil }
        self.fromHost = parts[0].isEmpty ? nil : parts[0].lowercased()
        self.fromPort = from.value
        self.toHost = parts[2].isEmpty ? nil : parts[2]
        self.toPort = to.value
    }

    func applies(to host: String, port: Int) -> Bool {
        (fromHost ?? host) == host && (fromPort ?? port) == port
    }
}
