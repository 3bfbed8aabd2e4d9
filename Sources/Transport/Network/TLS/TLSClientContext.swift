// SPDX-License-Identifier: Apache-2.0

internal import HybridBoringTLS

/// The TLS settings of clients, shared by connections on all event loops: HTTP/1.1 by ALPN, no renegotiation.
final class TLSClientContext: Sendable {
    /// The certificates that a server's chain must lead to.
    enum Trust {
        /// Any chain is accepted, and versions from TLS 1.0 on.
        case anything
        /// The system's certificates, from a bundle, from a folder with hashed names, or from both.
        case system(SystemAnchors)
        /// The certificates of a text in PEM.
        case certificates(pem: [UInt8])
    }

    /// The context cannot be created, or the certificates cannot be used.
    struct Unusable: Error {}

    let settings: TLSContext

    /// Cipher suites below TLS 1.3: those with forward secrecy first, older ones for servers that have no others.
    private static let ciphers =
        "ECDH+AESGCM:ECDH+CHACHA20:DH+AESGCM:DH+CHACHA20:ECDH+AES256:DH+AES256:ECDH+AES128:DH+AES:RSA+AESGCM:RSA+AES:"
        + "!aNULL:!eNULL:!MD5"

    /// Creates the settings; may read files.
    init(_ trust: Trust) throws(Unusable) {
        let acceptsAll = if case .anything = trust { true } else { false }
        do throws(TLSContext.SetupError) {
            settings = try TLSContext(.client, ciphers: Self.ciphers, permitsOldVersions: acceptsAll)
        } catch {
            throw Unusable()
        }
        settings.passSessions(to: TLSClientConnection.keepSession)
        guard settings.offerHTTP(), Self.setTrust(trust, in: settings) else { throw Unusable() }
    }

    private static func setTrust(_ trust: Trust, in settings: TLSContext) -> Bool {
        switch trust {
        case .anything: true
        case .system(let anchors): anchors.areTrusted(by: settings)
        case .certificates(let pem): settings.trust(certificates: pem)
        }
    }
}
