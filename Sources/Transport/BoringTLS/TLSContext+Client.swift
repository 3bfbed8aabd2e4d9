// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// Functions of BoringSSL in this file (see BoringSSLErrors.swift):
//
// - SSL_CTX_get0_param, SSL_CTX_get_cert_store, SSL_CTX_load_verify_locations, SSL_CTX_sess_set_new_cb,
//   SSL_CTX_set_alpn_protos, SSL_CTX_set_session_cache_mode, SSL_CTX_set_verify, SSL_SESSION_early_data_capable,
//   SSL_SESSION_to_bytes, SSL_get_rbio, BIO_get_data, OPENSSL_free, X509_STORE_add_cert, X509_VERIFY_PARAM_set_flags

extension TLSContext {
    /// Makes clients verify the server's chain with the certificates of a file, of a folder with hashed names, or of both.
    ///
    /// - Returns: False if they cannot be read.
    package func trust(bundle: String?, folder: String?) -> Bool {
        defer { BoringSSLErrors.clear() }
        verifyChains()
        return SSL_CTX_load_verify_locations(pointer, bundle, folder) == 1
    }

    /// Makes clients verify the server's chain with the certificates of a text in PEM.
    ///
    /// - Returns: False if the text has none, or if one cannot be used.
    package func trust(certificates pem: [UInt8]) -> Bool {
        defer { BoringSSLErrors.clear() }
        verifyChains()
        let store = SSL_CTX_get_cert_store(pointer)
        var areAdded = true
        let count = PEM.certificates(in: pem) { certificate in
            areAdded = X509_STORE_add_cert(store, certificate.pointer) == 1
            return areAdded
        }
        return count != nil && areAdded
    }

    /// Makes clients verify the server's chain with those certificates of a text in PEM that can be used.
    ///
    /// - Returns: False if there is none.
    package func trust(usableIn pem: [UInt8]) -> Bool {
        defer { BoringSSLErrors.clear() }
        verifyChains()
        let store = SSL_CTX_get_cert_store(pointer)
        var areAdded = false
        PEM.parsableCertificates(in: pem) { certificate in
            if X509_STORE_add_cert(store, certificate.pointer) == 1 { areAdded = true }
        }
        return areAdded
    }

    private func verifyChains() {
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        // Servers that send an outdated root do not hide a trusted one.
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), CUnsignedLong(X509_V_FLAG_TRUSTED_FIRST))
    }

    /// Makes clients offer HTTP/1.1 by ALPN.
    ///
    /// - Returns: False if there is no memory.
    package func offerHTTP() -> Bool {
        defer { BoringSSLErrors.clear() }
        let protocols: [UInt8] = [8] + "http/1.1".utf8
        // This function returns 0 on success.
        return SSL_CTX_set_alpn_protos(pointer, protocols, protocols.count) == 0
    }

    /// A function that receives each session that a server offers: BoringSSL's connection and session.
    ///
    /// It returns 0, which means that BoringSSL keeps the ownership of the session.
    package typealias NewSession = @convention(c) (OpaquePointer?, OpaquePointer?) -> CInt

    /// Makes clients pass the sessions that servers offer to a function; BoringSSL keeps none.
    package func passSessions(to function: @escaping NewSession) {
        SSL_CTX_set_session_cache_mode(pointer, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL)
        SSL_CTX_sess_set_new_cb(pointer, function)
    }
}

/// A session that a server offers, within a call of ``TLSContext/NewSession``.
package struct OfferedSession: ~Copyable {
    private let session: OpaquePointer
    /// The object that the connection's ``TLSEngine`` belongs to, which is not retained.
    package let owner: UnsafeMutableRawPointer

    /// Creates the session from the arguments of the call.
    package init?(_ connection: OpaquePointer?, _ session: OpaquePointer?) {
        guard let connection, let session, let owner = BIO_get_data(SSL_get_rbio(connection)) else { return nil }
        (self.session, self.owner) = (session, owner)
    }

    /// True if a later connection with this session may send early data.
    package var permitsEarlyData: Bool { SSL_SESSION_early_data_capable(session) == 1 }

    /// Calls `body` with BoringSSL's serialization of the session, which is wiped afterwards.
    ///
    /// - Returns: The result; `nil` if the session cannot be serialized.
    package func withSerialization<Result>(_ body: (UnsafeRawBufferPointer) -> Result?) -> Result? {
        var bytes: UnsafeMutablePointer<UInt8>?
        var length = 0
        guard SSL_SESSION_to_bytes(session, &bytes, &length) == 1, let bytes else {
            // Otherwise, the read in progress would fail.
            BoringSSLErrors.clear()
            return nil
        }
        // This wipes the memory.
        defer { OPENSSL_free(bytes) }
        return body(UnsafeRawBufferPointer(start: bytes, count: length))
    }
}
