// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import NIOCore
public import NIOSSL

/// A certificate chain and its key from files, made into a TLS context as the relay wants it.
public enum RelayCertificate {
    /// Why the files do not make a TLS context; `path` is as it was given.
    public enum LoadError: Error, Equatable, Sendable {
        /// The file is missing or must not be read.
        case unreadable(path: String)
        /// The file holds no certificate in PEM.
        case noCertificate(path: String)
        /// The file holds no unencrypted private key in PEM.
        case noKey(path: String)
        /// The key is not that of the first certificate.
        case mismatch(certificate: String, key: String)
        /// The TLS library refuses the pair.
        case refused(String)
    }

    /// Reads a PEM chain, the server's own certificate first, and a PEM key.
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
            // The key was read above, so what the library minds is that it does not fit.
            throw .mismatch(certificate: certificateFile, key: keyFile)
        } catch {
            throw .refused("\(error)")
        }
    }

    /// TLS 1.2 or later, HTTP/1.1 by ALPN, no client certificates.
    public static func configuration(chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        // For TLS 1.2: only what keeps what was said secret when the key is lost later, and with authenticated
        // encryption. TLS 1.3 has nothing else. Which of them it is, is the client's choice in both, so browsers and phones
        // get AES-128, which they put first.
        configuration.cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"
        // The first against those who record today to decrypt later; browsers and phones offer it.
        configuration.curves = [.x25519_MLKEM768, .x25519, .secp256r1, .secp384r1]
        configuration.applicationProtocols = ["http/1.1"]
        // Who is hung up on has had its time before; TLS need not wait for its consent.
        configuration.shutdownTimeout = .milliseconds(100)
        return configuration
    }
}
