// SPDX-License-Identifier: Apache-2.0

public import CaBLE

/// How to reach a relay: by its name unless told otherwise.
public struct RelayLocation: Sendable {
    /// The relay.
    public var domain: TunnelDomain
    /// A detour, as curl's `--connect-to`; name and certificate checks stay those of the domain.
    public var detour: Detour?
    /// A file of certificates (PEM) trusted instead of the system's, as curl's `--cacert`.
    public var trustedCertificates: String?
    /// How long each step may take.
    public var timeouts = Timeouts()

    /// The port of every tunnel service.
    public static let port = 443

    /// A relay reached by its name, or by a detour.
    public init(domain: TunnelDomain, detour: Detour? = nil, trustedCertificates: String? = nil) {
        self.domain = domain
        self.detour = detour
        self.trustedCertificates = trustedCertificates
    }

    /// How long each step may take, in seconds.
    public struct Timeouts: Sendable {
        /// Name resolution and TCP.
        public var connect = 10
        /// TLS and the WebSocket request together.
        public var open = 15

        /// The usual bounds.
        public init() {}
    }

    var target: (host: String, port: Int) {
        guard let detour, detour.applies(to: domain.host, port: Self.port) else { return (domain.host, Self.port) }
        return (detour.toHost ?? domain.host, detour.toPort ?? Self.port)
    }
}

/// `HOST:PORT:HOST2:PORT2`: connections meant for the first go to the second; an empty part means *any* on the
/// left and *the same* on the right.
public struct Detour: Hashable, Sendable {
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
