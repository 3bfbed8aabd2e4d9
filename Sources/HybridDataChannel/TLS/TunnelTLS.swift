// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
package import NIOSSL

/// TLS for connections to a relay: version 1.2 or later, with the certificate and the host name always verified.
enum TunnelTLS {
    /// Creates a context.
    ///
    /// - Parameters:
    ///   - path: A PEM file of certificates to trust; `nil` for the system's.
    ///   - readsAlerts: True to stay below TLS 1.3, so that alerts can be read (``TLSAlertRecorder``).
    static func context(trustedCertificates path: String?, readsAlerts: Bool = false) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if readsAlerts { configuration.maximumTLSVersion = .tlsv12 }
        configuration.applicationProtocols = ["http/1.1"]
        // By then, the WebSocket close frames have been exchanged, and the user is waiting for the result.
        configuration.shutdownTimeout = .milliseconds(250)
        if let path {
            configuration.trustRoots = .certificates(try TrustAnchors.certificates(in: path))
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw TunnelError.tlsFailed("\(error)")
        }
    }

    /// Returns the cause of a failed handshake; `nil` if the error is not about TLS.
    ///
    /// - Parameters:
    ///   - error: The error that ended the handshake.
    ///   - host: The host's name in error messages.
    ///   - certificate: The certificate that the server presented.
    static func failure(_ error: any Error, host: String, certificate: PresentedCertificate?) -> TunnelError? {
        if let error = error as? NIOSSLExtraError {
            return error == .failedToValidateHostname ? .certificateForOtherHost(host) : .tlsFailed("\(error)")
        }
        guard let error = error as? NIOSSLError else { return nil }
        let text = "\(error)"
        // BoringSSL reports the reason only as text.
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return distrust(certificate, host: host) }
        if text.contains("EOF during handshake") { return .disconnected(host: host, .securing) }
        if case .uncleanShutdown = error { return .disconnected(host: host, .upgrading) }
        return .tlsFailed(text)
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
