// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOSSL

/// TLS towards a relay: 1.2 or newer, certificate and name always checked.
enum TunnelTLS {
    /// - Parameter isLegible: whether to stay below TLS 1.3, so that alerts can be read (``TLSAlertRecorder``).
    static func context(trustedCertificates path: String?, isLegible: Bool = false) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if isLegible { configuration.maximumTLSVersion = .tlsv12 }
        configuration.applicationProtocols = ["http/1.1"]
        // The close frames have said goodbye; a person waits for the answer.
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

    /// Tells the causes of a failed handshake apart.
    ///
    /// - Parameter certificate: what the relay, or whoever stands in its place, has shown.
    static func failure(_ error: any Error, host: String, certificate: PresentedCertificate?) -> TunnelError? {
        if let error = error as? NIOSSLExtraError {
            return error == .failedToValidateHostname ? .certificateForOtherHost(host) : .tlsFailed("\(error)")
        }
        guard let error = error as? NIOSSLError else { return nil }
        let text = "\(error)"
        // BoringSSL reports the reason only as text.
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return distrust(certificate, host: host) }
        if text.contains("EOF during handshake") { return .hungUp(host: host, .securing) }
        if case .uncleanShutdown = error { return .hungUp(host: host, .upgrading) }
        return .tlsFailed(text)
    }

    /// Why a certificate was refused, as far as it tells itself.
    ///
    /// Dates alone do not say that it would be trusted inside them: ``HopConnector`` finds that out.
    private static func distrust(_ certificate: PresentedCertificate?, host: String) -> TunnelError {
        guard let certificate else { return .certificateNotTrusted(host: host, issuer: nil) }
        let now = time(nil)
        if now > certificate.notAfter { return .certificateExpired(host: host) }
        if now < certificate.notBefore { return .certificateNotYetValid(host: host) }
        return unknownIssuer(certificate, host: host)
    }

    /// No trusted authority has issued the certificate, whatever its dates.
    static func unknownIssuer(_ certificate: PresentedCertificate, host: String) -> TunnelError {
        certificate.isSelfSigned
            ? .certificateSelfSigned(host: host) : .certificateNotTrusted(host: host, issuer: certificate.issuer)
    }
}
