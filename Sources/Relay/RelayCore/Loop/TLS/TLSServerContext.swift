// SPDX-License-Identifier: Apache-2.0

internal import HybridBoringTLS

/// A certificate with its key and the relay's TLS settings, shared by all event loops.
///
/// TLS 1.2 or later, HTTP/1.1 by ALPN, no client certificates, no renegotiation. Session tickets are encrypted with keys
/// that BoringSSL replaces after two days and deletes after four, both when a ticket is next used. They exist only in
/// memory. With a ticket, a client may send up to 14 KiB of early data (RFC 8446 §2.3), which an attacker can replay. So the
/// caller decides which requests it processes.
public final class TLSServerContext: Sendable {
    typealias SetupError = TLSContext.CertificateError

    let settings: TLSContext

    /// Creates a context from a PEM chain, which begins with the server's own certificate, and a PEM key.
    init(certificate: [UInt8], key: [UInt8]) throws(SetupError) {
        do throws(TLSContext.SetupError) {
            // For TLS 1.2, only suites with forward secrecy and authenticated encryption; TLS 1.3 has no others. In both
            // versions the client chooses, so browsers and phones use AES-128, their first choice.
            settings = try TLSContext(.server, ciphers: "ECDHE+AESGCM:ECDHE+CHACHA20")
        } catch {
            throw .rejected(error.reason)
        }
        try settings.use(certificates: certificate, key: key)
        settings.acceptEarlyData()
        settings.selectHTTP()
    }
}
