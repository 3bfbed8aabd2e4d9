// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// TLS for connections to servers: version 1.2 or later, with the certificate and the host name always verified.
package struct ClientTLS: Sendable {
    private let context: TLSClientContext
    /// SHA-256 of the file of trusted certificates; empty for the system's; `nil` if no certificate is verified.
    private let anchors: [UInt8]?

    /// Creates the TLS of one server, and of those that it redirects to.
    ///
    /// - Parameter path: A PEM file of certificates to trust; `nil` for the system's.
    /// - Throws: ``NetworkError/trustAnchorsUnusable(_:reason:remedy:)``.
    package init(trustedCertificates path: String?) throws(NetworkError) {
        guard let path else {
            try self.init(system: SystemAnchors())
            return
        }
        let (context, digest) = try TrustAnchors.context(path)
        self.init(context, anchors: digest)
    }

    /// Creates the TLS of a server whose certificate an authority of the system has issued.
    init(system: SystemAnchors) throws(NetworkError) {
        guard let context = try? TLSClientContext(.system(system)) else {
            throw .trustAnchorsUnusable("the system's list")
        }
        self.init(context, anchors: [])
    }

    private init(_ context: TLSClientContext, anchors: [UInt8]?) {
        (self.context, self.anchors) = (context, anchors)
    }

    /// Returns TLS 1.0 or later that accepts any certificate, to inspect a server; no secret may be sent over it.
    package static func unverified() throws(NetworkError) -> ClientTLS {
        guard let context = try? TLSClientContext(.anything) else { throw .tlsFailed("out of memory") }
        return ClientTLS(context, anchors: nil)
    }

    /// Creates the handler of one connection to `host`, a name or an address literal.
    package func handler(for host: String) -> TLSClientHandler {
        handler(for: host, sessions: nil, sendsEarlyData: false)
    }

    /// Creates the handler of one connection to `host`, a name or an address literal.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - sessions: The collection to keep sessions in; `nil` to keep none.
    ///   - sendsEarlyData: True to send the first request as early data if there is a session; only for requests whose
    ///     replay is harmless.
    package func handler(for host: String, sessions: TLSSessions?, sendsEarlyData: Bool) -> TLSClientHandler {
        let kept = sessions.flatMap { sessions in
            anchors.map { TLSClientHandler.Sessions(sessions, sessions.key(host: host, anchors: $0)) }
        }
        return TLSClientHandler(
            context,
            serverName: IPAddress(host) == nil ? host : nil,
            identity: anchors == nil ? nil : ReferenceIdentity(host: host),
            sessions: kept,
            sendsEarlyData: sendsEarlyData
        )
    }

    /// Returns the cause of a failed connection; `nil` if the error is not about TLS.
    ///
    /// - Parameters:
    ///   - error: The error that ended the handshake.
    ///   - host: The host's name in error messages.
    ///   - certificate: The certificate that the server presented.
    package static func failure(
        _ error: any Error,
        host: String,
        certificate: PresentedCertificate?
    ) -> NetworkError? {
        switch error as? TLSFailure {
        case .certificateNotTrusted?:
            certificate?.isSelfSigned == true
                ? .certificateSelfSigned(host: host) : .certificateNotTrusted(host: host, issuer: certificate?.issuer)
        case .certificateExpired?: .certificateExpired(host: host)
        case .certificateNotYetValid?: .certificateNotYetValid(host: host)
        case .otherHost?: .certificateForOtherHost(host)
        case .cutOff?: .disconnected(host: host, .securing)
        case .unannouncedEnd?: .disconnected(host: host, .upgrading)
        case .notTLS?: .tlsMissing(host: host)
        case .version?: .tlsVersionUnsupported(host: host)
        case .cipher?: .tlsCipherUnsupported(host: host)
        case .alert(let name)?: .tlsAlert(host: host, name: name)
        case .earlyData?: .tlsFailed("the server does not process early data any more")
        case .other(let words)?: .tlsFailed(words ?? "the cause is not known")
        case nil: nil
        }
    }
}

/// Contents of a certificate that a server presented, trusted or not.
public struct PresentedCertificate: Equatable, Sendable {
    /// The issuer's name in the certificate, at most 130 characters, safe for a terminal; `nil` if it cannot be read.
    public let issuer: String?
    /// True if issuer and subject have the same name.
    public let isSelfSigned: Bool
    /// Start of the validity period, in seconds since 1970; `nil` if it cannot be read.
    public let notBefore: Int?
    /// End of the validity period, in seconds since 1970; `nil` if it cannot be read.
    public let notAfter: Int?

    package init(_ certificate: PeerCertificate) {
        let name = IssuerName(certificate: certificate.der)
        issuer = name?.text
        isSelfSigned = name?.isSelfSigned ?? false
        (notBefore, notAfter) = (certificate.notBefore, certificate.notAfter)
    }
}
