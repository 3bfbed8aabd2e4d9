// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// The reason why a relay could not be reached over the network: names, TCP, a proxy, TLS, redirections or a status.
///
/// The sentences are about relays; those about other servers are in ``HTTPSError``. Hosts are named with the
/// `--connect-to` override that applies to them, if there is one.
public struct NetworkError: ExplainedFailure, Hashable {
    /// The identifier of the cause for programs.
    public let code: String
    /// The cause and the remedy on one line.
    public let sentence: String
    /// The exit status of a command that ends with this error.
    public let status: ExitStatus

    private init(_ code: String, _ sentence: String, status: ExitStatus = .unavailable) {
        (self.code, self.status, self.sentence) = (code, status, sentence)
    }

    // MARK: The connection to the relay

    /// A step of a request to a relay.
    public enum Stage: String, Sendable {
        /// Name resolution and TCP.
        case connecting
        /// The TLS handshake.
        case securing
        /// The HTTP request.
        case upgrading
    }

    /// The relay's name cannot be resolved.
    public static func hostNotFound(_ host: String) -> Self {
        Self("relay-host-not-found", "the relay \(host) has no address; check the network and the tunnel domain")
    }
    /// The relay's host rejects the TCP connection.
    public static func connectionRefused(_ host: String) -> Self {
        Self("relay-connection-refused", "the relay \(host) refused the connection; check that it is running")
    }
    /// The relay cannot be reached over the network; `reason` is the system's error text.
    public static func unreachable(host: String, reason: String) -> Self {
        Self("relay-unreachable", "the relay \(host) can't be reached (\(reason)); check the network")
    }
    /// A step timed out.
    public static func timedOut(host: String, _ stage: Stage) -> Self {
        Self(
            "relay-timed-out",
            "the relay \(host) did not answer in time (\(stage.rawValue)); try again",
            status: .temporary
        )
    }
    /// The relay, or a machine on the path to it, closed the connection during a step.
    public static func disconnected(host: String, _ stage: Stage) -> Self {
        Self(
            "relay-hung-up",
            stage == .securing
                ? "\(host) closed the connection before TLS began; the relay may be overloaded, or the network may "
                    + "block it"
                : "\(host) closed the connection without a response; check that it is a tunnel relay",
            status: .temporary
        )
    }

    // MARK: The proxy, named by host and port

    /// An environment variable does not name a usable proxy; its value is not shown.
    public static func proxySettingUnusable(variable: String, why: ProxySettingError) -> Self {
        Self("proxy-setting-unusable", "\(variable) \(why.complaint)", status: .configuration)
    }
    /// The proxy's name cannot be resolved.
    public static func proxyNotFound(_ proxy: String) -> Self {
        Self("proxy-host-not-found", "the proxy \(proxy) has no address; check HTTPS_PROXY")
    }
    /// The proxy's host rejects the TCP connection.
    public static func proxyConnectionRefused(_ proxy: String) -> Self {
        Self("proxy-connection-refused", "the proxy \(proxy) refused the connection; check HTTPS_PROXY")
    }
    /// The proxy cannot be reached over the network; `reason` is the system's error text.
    public static func proxyUnreachable(proxy: String, reason: String) -> Self {
        Self("proxy-unreachable", "the proxy \(proxy) can't be reached (\(reason)); check the network and HTTPS_PROXY")
    }
    /// The proxy did not answer in time.
    public static func proxySilent(_ proxy: String) -> Self {
        Self(
            "proxy-silent",
            "the proxy \(proxy) did not answer in time; try again, or connect without it",
            status: .temporary
        )
    }
    /// The proxy closed the connection before it answered.
    public static func proxyDisconnected(_ proxy: String) -> Self {
        Self(
            "proxy-hung-up",
            "the proxy \(proxy) closed the connection before it answered; check that it is an HTTP proxy"
        )
    }
    /// The proxy requires credentials.
    public static func proxyWantsAuthentication(_ proxy: String) -> Self {
        Self(
            "proxy-wants-authentication",
            "the proxy \(proxy) requires a user name and a password; set HTTPS_PROXY to "
                + "http://USER:PASSWORD@HOST:PORT"
        )
    }
    /// The proxy rejects the credentials that were sent.
    public static func proxyRefusesAuthentication(_ proxy: String) -> Self {
        Self(
            "proxy-refuses-authentication",
            "the proxy \(proxy) rejected the user and password in HTTPS_PROXY; check them and their percent-encoding"
        )
    }
    /// The proxy refuses to connect to the relay and answers with this HTTP status.
    public static func proxyRefused(proxy: String, status: Int) -> Self {
        Self(
            "proxy-refused",
            "the proxy \(proxy) does not allow the connection to the relay (HTTP status \(status)); ask its operator"
        )
    }
    /// The proxy's response violates the protocol; `how` describes the violation.
    public static func proxyMisbehaved(proxy: String, how: String) -> Self {
        Self("proxy-misbehaved", "the proxy \(proxy) violated the protocol: \(how); check that it is an HTTP proxy")
    }

    // MARK: TLS

    /// No trusted authority signed the relay's certificate; `issuer` is the issuer that the certificate names.
    public static func certificateNotTrusted(host: String, issuer: String?) -> Self {
        Self(
            "certificate-not-trusted",
            issuer.map {
                "the certificate for \(host) is not trusted: it was issued by \"\($0)\"; if that is your own authority, "
                    + "or that of a network that intercepts TLS and that you trust, pass its certificate with --cacert"
            } ?? "the certificate for \(host) is not trusted and names no issuer; contact the relay's operator"
        )
    }
    /// The relay's certificate is self-signed.
    public static func certificateSelfSigned(host: String) -> Self {
        Self(
            "certificate-self-signed",
            "the certificate for \(host) is not trusted: it is self-signed; if the relay is your own, pass the "
                + "certificate with --cacert"
        )
    }
    /// The relay's certificate is no longer valid according to this computer's clock.
    public static func certificateExpired(host: String) -> Self {
        Self(
            "certificate-expired",
            "the certificate for \(host) has expired; check this computer's clock, or contact the relay's operator"
        )
    }
    /// The relay's certificate is not valid yet according to this computer's clock.
    public static func certificateNotYetValid(host: String) -> Self {
        Self("certificate-not-yet-valid", "the certificate for \(host) is not valid yet; check this computer's clock")
    }
    /// The relay's certificate is for other names.
    public static func certificateForOtherHost(_ host: String) -> Self {
        Self(
            "certificate-for-other-host",
            "the relay's certificate is not for \(host); check the tunnel domain, or contact the relay's operator"
        )
    }
    /// The relay's host sends something else than TLS.
    public static func tlsMissing(host: String) -> Self {
        Self(
            "tls-missing",
            "\(host) does not speak TLS; check the tunnel domain, and whether the network requires a login"
        )
    }
    /// The relay's host supports no version of TLS that is secure.
    public static func tlsVersionUnsupported(host: String) -> Self {
        Self("tls-version-unsupported", "\(host) supports neither TLS 1.2 nor 1.3; contact the relay's operator")
    }
    /// The relay's host supports none of the ciphers, groups and signature algorithms that are offered.
    public static func tlsCipherUnsupported(host: String) -> Self {
        Self(
            "tls-cipher-unsupported",
            "\(host) supports none of the TLS ciphers and signatures of this computer; contact the relay's operator"
        )
    }
    /// The relay's host ended TLS with an alert (RFC 8446 §6); `name` is its name or number.
    public static func tlsAlert(host: String, name: String) -> Self {
        Self("tls-alert", "\(host) ended TLS with the alert \(name); try again, or contact the relay's operator")
    }
    /// TLS failed for another reason, a few words without a full stop.
    public static func tlsFailed(_ why: String) -> Self {
        Self("tls-failed", "TLS with the relay failed: \(why); try again, or contact the relay's operator")
    }
    /// The file of trusted certificates cannot be used.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - reason: A clause such as `it is empty`, if the reason is known.
    ///   - remedy: The remedy if there is one for this kind of file.
    public static func trustAnchorsUnusable(_ path: String, reason: String? = nil, remedy: String? = nil) -> Self {
        Self(
            "cacert-unusable",
            "\(path) can't be read as certificates (PEM)\(reason.map { ": \($0)" } ?? ""); \(remedy ?? otherAnchors)",
            status: .noInput
        )
    }

    /// The remedy for a file of trusted certificates without another one.
    package static let otherAnchors = "use a different file with --cacert"

    // MARK: HTTP

    /// The relay requires a token, or another one (HTTP status 401).
    public static let notAuthorized = Self(
        "relay-token-refused",
        "the relay requires a valid token; use --tunnel-token-file"
    )
    /// The relay is full or shutting down, or a server behind it is (HTTP status 429, 502 or 503).
    public static let relayBusy = Self("relay-busy", "the relay is full or shutting down; try again in a minute")
    /// The relay answered with another HTTP status.
    public static func refused(status: Int) -> Self {
        Self(
            "relay-refused",
            "the relay refused the request with HTTP status \(status); check that it is a tunnel relay"
        )
    }
    /// Returns the error for an HTTP status that is neither a success nor a redirection.
    package static func refusal(status: UInt) -> Self {
        switch status {
        case 401: .notAuthorized
        case 429, 502, 503: .relayBusy
        default: .refused(status: Int(status))
        }
    }
    /// The relay, or a host that it redirects to, sent a redirection that is not followed.
    public static func redirectRefused(host: String, _ why: RedirectError) -> Self {
        Self(
            "redirection-refused",
            "\(host) redirects \(why.target), which is not followed; contact the relay's operator"
        )
    }
    /// There were too many redirections in sequence; `host` sent the last one.
    public static func tooManyRedirects(host: String) -> Self {
        Self(
            "too-many-redirections",
            "there are too many redirections, the last by \(host); contact the operator of the first relay"
        )
    }
}

/// The reason why an environment variable does not name a usable proxy.
public struct ProxySettingError: Error, Hashable, Sendable {
    fileprivate let complaint: String

    /// The value does not have the form `[http://][USER[:PASSWORD]@]HOST[:PORT]`.
    public static let malformed = Self(
        complaint: "does not name a proxy; use http://HOST:PORT, with USER:PASSWORD@ in front of HOST if needed"
    )
    /// The kind of proxy, such as `socks5`, is not supported; `kind` has at most 16 letters and digits.
    public static func otherKind(_ kind: String) -> Self {
        Self(complaint: "names a proxy of the kind \(kind); only http proxies can be used")
    }
}

/// The reason why a redirection is not followed.
public struct RedirectError: Error, Hashable, Sendable {
    fileprivate let target: String

    /// There is no `Location`, or more than one.
    public static let noTarget = Self(target: "without a target")
    /// The target cannot be parsed.
    public static let malformed = Self(target: "to an invalid URL")
    /// The target is neither `https` nor `wss`.
    public static let notSecure = Self(target: "to a target without TLS")
    /// The target has a port other than 443.
    public static let otherPort = Self(target: "to a port other than 443")
    /// The target is an IP address instead of a name.
    public static let address = Self(target: "to an IP address instead of a name")
    /// The target is in this computer's own network, and the relay itself is not.
    public static let local = Self(target: "into this computer's own network")
    /// The target is another host, which the proxy would look up, and which may be in the proxy's network.
    public static let throughProxy = Self(target: "to another host through the proxy")
}
