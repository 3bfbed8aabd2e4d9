// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// Functions of BoringSSL in this file (see BoringSSLErrors.swift):
//
// - ERR_clear_error, SSL_CTX_get_cert_store, SSL_SESSION_early_data_capable, SSL_SESSION_free, SSL_SESSION_from_bytes,
//   SSL_SESSION_get0_peer, SSL_SESSION_get0_peer_certificates, SSL_get0_alpn_selected, SSL_get0_param,
//   SSL_get_peer_certificate, SSL_get_verify_result, SSL_in_early_data, SSL_reset_early_data_reject,
//   SSL_set_connect_state, SSL_set_early_data_enabled, SSL_set_session, SSL_set_tlsext_host_name, SSL_version
// - X509_STORE_CTX_free, X509_STORE_CTX_get0_param, X509_STORE_CTX_init, X509_STORE_CTX_new,
//   X509_STORE_CTX_set_default, X509_VERIFY_PARAM_set1, X509_free, X509_parse_from_buffer, X509_verify_cert,
//   sk_CRYPTO_BUFFER_num, sk_CRYPTO_BUFFER_value, sk_X509_new_null, sk_X509_pop_free, sk_X509_push

extension TLSEngine {
    /// Makes this the client's side.
    ///
    /// - Parameter serverName: The name to send (SNI); `nil` for none.
    /// - Returns: False if the name cannot be used; the reasons are in ``BoringSSLErrors``.
    package func connect(serverName: String?) -> Bool {
        SSL_set_connect_state(ssl)
        guard let serverName else { return true }
        return SSL_set_tlsext_host_name(ssl, serverName) == 1
    }

    /// Offers a session to the server, and early data with it.
    ///
    /// The session is ignored if it permits no early data, or if its certificates are no longer trusted or valid.
    /// BoringSSL checks the ticket's own lifetime.
    ///
    /// - Parameters:
    ///   - serialization: BoringSSL's serialization of the session.
    ///   - context: The settings of this connection.
    package func offer(session serialization: UnsafeRawBufferPointer, of context: TLSContext) {
        defer { ERR_clear_error() }
        let bytes = serialization.assumingMemoryBound(to: UInt8.self)
        guard let session = SSL_SESSION_from_bytes(bytes.baseAddress, bytes.count, context.pointer) else { return }
        defer { SSL_SESSION_free(session) }
        guard SSL_SESSION_early_data_capable(session) == 1, isTrusted(session, context),
            SSL_set_session(ssl, session) == 1
        else { return }
        SSL_set_early_data_enabled(ssl, 1)
    }

    /// Verifies the chain that the server of a session presented, as in a handshake.
    ///
    /// BoringSSL itself verifies it again only by a callback, which would have to replace its verification.
    private func isTrusted(_ session: OpaquePointer, _ context: TLSContext) -> Bool {
        guard let leaf = SSL_SESSION_get0_peer(session), let chain = sk_X509_new_null() else { return false }
        // The chain owns its certificates.
        defer { sk_X509_pop_free(chain, X509_free) }
        let presented = SSL_SESSION_get0_peer_certificates(session)
        for index in 0..<sk_CRYPTO_BUFFER_num(presented) {
            let parsed = X509_parse_from_buffer(sk_CRYPTO_BUFFER_value(presented, index))
            guard let certificate = parsed, sk_X509_push(chain, certificate) > 0 else {
                X509_free(parsed)
                return false
            }
        }
        guard let verification = X509_STORE_CTX_new() else { return false }
        defer { X509_STORE_CTX_free(verification) }
        return X509_STORE_CTX_init(verification, SSL_CTX_get_cert_store(context.pointer), leaf, chain) == 1
            && X509_STORE_CTX_set_default(verification, "ssl_server") == 1
            && X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(verification), SSL_get0_param(ssl)) == 1
            && X509_verify_cert(verification) == 1
    }

    /// True while early data may be written, before the server has answered.
    package var isInEarlyData: Bool { SSL_in_early_data(ssl) == 1 }

    /// Continues the handshake after ``Outcome/earlyDataRejected``.
    package func forgetEarlyData() { SSL_reset_early_data_reject(ssl) }

    /// The server's certificate, verified or not; with early data, at first the one that came with the session.
    package var peerCertificate: Certificate? { SSL_get_peer_certificate(ssl).map(Certificate.init(owning:)) }

    /// The result of the verification of a server's chain.
    package enum Verification: Sendable {
        case expired, notYetValid
        /// Any other result, including success.
        case other
    }

    /// The latest result of the verification of the server's chain.
    package var verification: Verification {
        switch CInt(SSL_get_verify_result(ssl)) {
        case X509_V_ERR_CERT_HAS_EXPIRED: .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
        default: .other
        }
    }

    /// The number of the negotiated version (RFC 8446 §4.1.2), such as `0x0304` for TLS 1.3.
    package var version: UInt16 { UInt16(clamping: SSL_version(ssl)) }

    /// The protocol that the server has chosen (ALPN), if it has.
    package var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: CUnsignedInt = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        guard length > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }
}
