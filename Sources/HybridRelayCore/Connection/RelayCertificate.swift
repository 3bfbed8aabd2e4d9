// SPDX-License-Identifier: Apache-2.0

private import Glibc
public import HybridPrimitives
internal import NIOCore
public import NIOSSL

/// Creation of the relay's TLS context from the files of a certificate chain and its key.
public enum RelayCertificate {
    /// The reason why the files cannot be used, with the paths as given.
    public struct LoadError: ExplainedFailure, Hashable {
        /// The cause of the failure.
        public let sentence: String
        /// The exit status of a command that fails with this error.
        public let status: ExitStatus
        /// The name of the status.
        public var code: String { status.name }

        private init(_ sentence: String, _ status: ExitStatus = .configuration) {
            (self.sentence, self.status) = (sentence, status)
        }

        /// The file is missing or not readable.
        public static func unreadable(path: String) -> LoadError { LoadError("cannot read \(path)", .noInput) }
        /// The file contains no PEM certificate.
        public static func noCertificate(path: String) -> LoadError { LoadError("\(path) holds no PEM certificate") }
        /// The file contains no unencrypted PEM private key.
        public static func noKey(path: String) -> LoadError {
            LoadError("\(path) holds no unencrypted PEM private key")
        }
        /// The key does not belong to the first certificate.
        public static func mismatch(certificate: String, key: String) -> LoadError {
            LoadError("the key in \(key) does not belong to \(certificate)")
        }
        /// The TLS library rejects the certificate and key.
        public static func rejected(_ reason: String) -> LoadError {
            LoadError("the certificate cannot be used: \(reason)")
        }
    }

    /// Creates a TLS context from a PEM chain, which begins with the server's own certificate, and a PEM key.
    public static func context(certificateFile: String, keyFile: String) throws(LoadError) -> NIOSSLContext {
        for path in [certificateFile, keyFile] {
            guard access(path, R_OK) == 0 else { throw .unreadable(path: path) }
        }
        guard let chain = try? NIOSSLCertificate.fromPEMFile(certificateFile), !chain.isEmpty else {
            throw .noCertificate(path: certificateFile)
        }
        guard let key = try? NIOSSLPrivateKey(file: keyFile, format: .pem) else { throw .noKey(path: keyFile) }
        do {
            return try NIOSSLContext(configuration: configuration(chain: chain, key: key))
        } catch NIOSSLError.failedToLoadPrivateKey {
            // The key was read above, so it does not match the certificate.
            throw .mismatch(certificate: certificateFile, key: keyFile)
        } catch {
            throw .rejected("\(error)")
        }
    }

    /// Returns the TLS configuration: TLS 1.2 or later, HTTP/1.1 by ALPN, no client certificates.
    public static func configuration(chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        // For TLS 1.2, only suites with forward secrecy and authenticated encryption; TLS 1.3 has no others. In both
        // versions the client chooses, so browsers and phones use AES-128, their first choice.
        configuration.cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"
        // The first one protects against attackers who record traffic now to decrypt it later. Browsers and phones
        // offer it.
        configuration.curves = [.x25519_MLKEM768, .x25519, .secp256r1, .secp384r1]
        configuration.applicationProtocols = ["http/1.1"]
        // By then, the peer has had time to close, so TLS need not wait for its close_notify.
        configuration.shutdownTimeout = .milliseconds(100)
        return configuration
    }
}
