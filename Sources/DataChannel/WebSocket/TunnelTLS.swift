// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// TLS towards a relay: 1.2 or newer, certificate and name always checked.
enum TunnelTLS {
    static func context(trustedCertificates path: String?) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        // The close frames have said goodbye; a person waits for the answer.
        configuration.shutdownTimeout = .milliseconds(250)
        if let path {
            let certificates: [NIOSSLCertificate]
            do {
                certificates = try NIOSSLCertificate.fromPEMFile(path)
            } catch {
                throw TunnelError.trustAnchorsUnusable(path)
            }
            guard !certificates.isEmpty else { throw TunnelError.trustAnchorsUnusable(path) }
            configuration.trustRoots = .certificates(certificates)
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw TunnelError.tlsFailed("\(error)")
        }
    }

    /// Tells the causes of a failed handshake apart.
    static func failure(_ error: any Error, host: String) -> TunnelError? {
        if let error = error as? NIOSSLExtraError {
            return error == .failedToValidateHostname ? .certificateForOtherHost(host) : .tlsFailed("\(error)")
        }
        guard let error = error as? NIOSSLError else { return nil }
        let text = "\(error)"
        // BoringSSL reports the reason only as text.
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return .certificateNotTrusted(host: host) }
        if text.contains("EOF during handshake") { return .connectionLost }
        if case .uncleanShutdown = error { return .connectionLost }
        return .tlsFailed(text)
    }
}
