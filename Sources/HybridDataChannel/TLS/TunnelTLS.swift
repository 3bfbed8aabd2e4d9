// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives
internal import NIOCore
package import NIOSSL

/// TLS for connections to a relay: version 1.2 or later, with the certificate and the host name always verified.
package struct TunnelTLS: Sendable {
    private let context: NIOSSLContext
    private let isVerified: Bool

    /// Creates the TLS of one relay, whose redirections share it.
    ///
    /// - Parameters:
    ///   - host: The relay: a name, or an address literal.
    ///   - path: A PEM file of certificates to trust; `nil` for the system's.
    ///   - readsAlerts: True to stay below TLS 1.3, so that alerts can be read (``TLSAlertRecorder``).
    /// - Throws: ``TunnelError/trustAnchorsUnusable(_:)``.
    package init(host: String, trustedCertificates path: String?, readsAlerts: Bool = false) throws(TunnelError) {
        var configuration = Self.configuration
        configuration.minimumTLSVersion = .tlsv12
        if readsAlerts { configuration.maximumTLSVersion = .tlsv12 }
        // For a literal, NIOSSL would require the address of the socket, which may be that of a proxy.
        if IPAddress(host) != nil { configuration.certificateVerification = .noHostnameVerification }
        self.init(try Self.context(configuration, trustedCertificates: path), isVerified: true)
    }

    private init(_ context: NIOSSLContext, isVerified: Bool) { (self.context, self.isVerified) = (context, isVerified) }

    /// Returns TLS 1.0 or later that accepts any certificate, to inspect a server; no secret may be sent over it.
    package static func unverified() throws(TunnelError) -> TunnelTLS {
        var configuration = configuration
        configuration.minimumTLSVersion = .tlsv1
        configuration.certificateVerification = .none
        return TunnelTLS(try context(configuration, trustedCertificates: nil), isVerified: false)
    }

    private static func context(
        _ configuration: TLSConfiguration,
        trustedCertificates path: String?
    ) throws(TunnelError) -> NIOSSLContext {
        var configuration = configuration
        if let path { configuration.trustRoots = .certificates(try TrustAnchors.certificates(in: path)) }
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            throw .trustAnchorsUnusable(path ?? "the system's list")
        }
        return context
    }

    private static var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        // By then, the WebSocket close frames have been exchanged, and the user is waiting for the result.
        configuration.shutdownTimeout = .milliseconds(250)
        return configuration
    }

    /// Creates the handler of one connection to `host`.
    ///
    /// It passes on no data in either direction before the certificate's name is verified. NIOSSL's own check is not
    /// enough: it also accepts a certificate for the address of the socket.
    package func handler(for host: String) throws -> NIOSSLClientHandler {
        let identity = ReferenceIdentity(host: host)
        let name = IPAddress(host) == nil ? host : nil
        guard isVerified else { return try NIOSSLClientHandler(context: context, serverHostname: name) }
        return try NIOSSLClientHandler._makeSSLClientHandler(context: context, serverHostname: name) {
            certificate,
            channel in
            identity.isPresented(by: certificate)
                ? channel.eventLoop.makeSucceededVoidFuture()
                : channel.eventLoop.makeFailedFuture(NIOSSLExtraError.failedToValidateHostname)
        }
    }

    /// Returns the cause of a failed connection; `nil` if the error is not about TLS.
    ///
    /// - Parameters:
    ///   - error: The error that ended the handshake.
    ///   - host: The host's name in error messages.
    ///   - certificate: The certificate that the server presented.
    static func failure(_ error: any Error, host: String, certificate: PresentedCertificate?) -> TunnelError? {
        switch TLSFailure(error) {
        case .certificateRejected?: distrust(certificate, host: host)
        case .otherHost?: .certificateForOtherHost(host)
        case .cutOff?: .disconnected(host: host, .securing)
        case .unannouncedEnd?: .disconnected(host: host, .upgrading)
        case .notTLS?: .tlsMissing(host: host)
        case .version?: .tlsVersionUnsupported(host: host)
        case .cipher?: .tlsCipherUnsupported(host: host)
        case .alert(let name)?: .tlsAlert(host: host, name: name)
        case .other(let words)?: .tlsFailed(words ?? "the cause is not known")
        case nil: nil
        }
    }

    /// Returns the reason why a certificate was rejected, as far as the certificate shows it.
    ///
    /// Even if the dates are wrong, the issuer may be untrusted, too; ``HopConnector`` checks that.
    private static func distrust(_ certificate: PresentedCertificate?, host: String) -> TunnelError {
        guard let certificate else { return .certificateNotTrusted(host: host, issuer: nil) }
        let now = time(nil)
        if now > certificate.notAfter { return .certificateExpired(host: host) }
        if now < certificate.notBefore { return .certificateNotYetValid(host: host) }
        return unknownIssuer(certificate, host: host)
    }

    /// Returns the error for a certificate that no trusted authority has issued, whatever its dates.
    static func unknownIssuer(_ certificate: PresentedCertificate, host: String) -> TunnelError {
        certificate.isSelfSigned
            ? .certificateSelfSigned(host: host) : .certificateNotTrusted(host: host, issuer: certificate.issuer)
    }
}

/// Files of certificates (PEM) that are trusted instead of the system's.
public enum TrustAnchors {
    /// Checks a file in the same way as when a tunnel is opened, so that an error is reported early.
    ///
    /// - Throws: ``TunnelError/trustAnchorsUnusable(_:)``.
    public static func check(_ path: String) throws(TunnelError) { _ = try certificates(in: path) }

    /// Returns the certificates of a file, at least one.
    package static func certificates(in path: String) throws(TunnelError) -> [NIOSSLCertificate] {
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else {
            throw .trustAnchorsUnusable(path)
        }
        return certificates
    }
}

/// Contents of a certificate that a server presented, trusted or not.
public struct PresentedCertificate: Equatable, Sendable {
    /// The issuer's name in the certificate, at most 130 characters, safe for a terminal; `nil` if it cannot be read.
    public let issuer: String?
    /// True if issuer and subject have the same name.
    public let isSelfSigned: Bool
    /// Start of the validity period, in seconds since 1970.
    public let notBefore: Int
    /// End of the validity period, in seconds since 1970.
    public let notAfter: Int

    init(_ certificate: NIOSSLCertificate) {
        let name = (try? certificate.toDERBytes()).flatMap(IssuerName.init(certificate:))
        issuer = name?.text
        isSelfSigned = name?.isSelfSigned ?? false
        notBefore = Int(certificate.notValidBefore)
        notAfter = Int(certificate.notValidAfter)
    }
}
