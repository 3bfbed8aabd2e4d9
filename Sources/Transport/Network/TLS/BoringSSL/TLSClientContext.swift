// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// One of the three files of this module that use BoringSSL (see TLSClientConnection.swift). Functions:
//
// - ERR_clear_error, SSL_CTX_free, SSL_CTX_get0_param, SSL_CTX_get_cert_store, SSL_CTX_load_verify_locations,
//   SSL_CTX_new, SSL_CTX_sess_set_new_cb, SSL_CTX_set1_group_ids, SSL_CTX_set_alpn_protos, SSL_CTX_set_cipher_list,
//   SSL_CTX_set_max_proto_version, SSL_CTX_set_min_proto_version, SSL_CTX_set_session_cache_mode, SSL_CTX_set_verify,
//   TLS_client_method, X509_STORE_add_cert, X509_VERIFY_PARAM_set_flags

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

    // SAFETY of nonisolated(unsafe): the pointer is constant. BoringSSL locks what changes in a context in use.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Cipher suites below TLS 1.3: those with forward secrecy first, older ones for servers that have no others.
    private static let ciphers =
        "ECDH+AESGCM:ECDH+CHACHA20:DH+AESGCM:DH+CHACHA20:ECDH+AES256:DH+AES256:ECDH+AES128:DH+AES:RSA+AESGCM:RSA+AES:"
        + "!aNULL:!eNULL:!MD5"

    /// Creates the settings; may read files.
    init(_ trust: Trust) throws(Unusable) {
        defer { ERR_clear_error() }
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw Unusable() }
        pointer = context
        // The deinitializer frees the context if one of the following throws.
        let minimum = if case .anything = trust { TLS1_VERSION } else { TLS1_2_VERSION }
        let protocols: [UInt8] = [8] + "http/1.1".utf8
        // The first group protects against attackers who record traffic now to decrypt it later.
        let groups = [
            UInt16(SSL_GROUP_X25519_MLKEM768), UInt16(SSL_GROUP_X25519), UInt16(SSL_GROUP_SECP256R1),
            UInt16(SSL_GROUP_SECP384R1),
        ]
        guard SSL_CTX_set_min_proto_version(context, UInt16(minimum)) == 1,
            SSL_CTX_set_max_proto_version(context, UInt16(TLS1_3_VERSION)) == 1,
            SSL_CTX_set_cipher_list(context, Self.ciphers) == 1,
            SSL_CTX_set1_group_ids(context, groups, groups.count) == 1,
            // This function returns 0 on success.
            SSL_CTX_set_alpn_protos(context, protocols, protocols.count) == 0
        else { throw Unusable() }
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL)
        SSL_CTX_sess_set_new_cb(context, TLSClientConnection.keepSession)
        guard Self.setTrust(trust, in: context) else { throw Unusable() }
    }

    deinit { SSL_CTX_free(pointer) }

    private static func setTrust(_ trust: Trust, in context: OpaquePointer) -> Bool {
        if case .anything = trust { return true }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        // Servers that send an outdated root do not hide a trusted one.
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), CUnsignedLong(X509_V_FLAG_TRUSTED_FIRST))
        switch trust {
        case .anything: return true
        case .system(let anchors): return SSL_CTX_load_verify_locations(context, anchors.bundle, anchors.folder) == 1
        case .certificates(let pem):
            let store = SSL_CTX_get_cert_store(context)
            return PEMCertificates.forEach(in: pem) { X509_STORE_add_cert(store, $0) == 1 }
        }
    }
}
