// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// Functions of BoringSSL in this file (see BoringSSLErrors.swift):
//
// - SSL_CTX_add1_chain_cert, SSL_CTX_check_private_key, SSL_CTX_set_alpn_select_cb, SSL_CTX_set_early_data_enabled,
//   SSL_CTX_set_mode, SSL_CTX_set_session_cache_mode, SSL_CTX_use_PrivateKey, SSL_CTX_use_certificate

extension TLSContext {
    /// The reason why a certificate and its key cannot be used.
    package enum CertificateError: Error, Equatable {
        case noCertificate
        case noKey
        /// The key does not belong to the first certificate.
        case mismatch
        /// BoringSSL rejects a certificate; its name for the reason.
        case rejected(String)
    }

    /// Sets a server's certificates, a PEM chain that begins with its own, and its PEM key.
    package func use(certificates: [UInt8], key: [UInt8]) throws(CertificateError) {
        defer { BoringSSLErrors.clear() }
        var (isFirst, rejection) = (true, String?.none)
        let count = PEM.certificates(in: certificates) { certificate in
            let result =
                isFirst
                ? SSL_CTX_use_certificate(pointer, certificate.pointer)
                : SSL_CTX_add1_chain_cert(pointer, certificate.pointer)
            isFirst = false
            if result != 1 { rejection = BoringSSLErrors.takeReasons().first ?? "no reason" }
            return result == 1
        }
        if let rejection { throw .rejected(rejection) }
        guard count != nil else { throw .noCertificate }
        let isUsed = PEM.withPrivateKey(in: key) { key in
            SSL_CTX_use_PrivateKey(pointer, key) == 1 && SSL_CTX_check_private_key(pointer) == 1
        }
        guard let isUsed else { throw .noKey }
        guard isUsed else { throw .mismatch }
    }

    /// Makes servers write parts of a record's plaintext, issue session tickets, and accept early data.
    ///
    /// Tickets are encrypted with keys that BoringSSL replaces after two days and deletes after four, both when a ticket is
    /// next used. They exist only in memory. Early data is limited to 14 KiB (RFC 8446 §2.3), and an attacker can replay it.
    package func acceptEarlyData() {
        SSL_CTX_set_mode(pointer, UInt32(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        SSL_CTX_set_session_cache_mode(pointer, SSL_SESS_CACHE_OFF)
        SSL_CTX_set_early_data_enabled(pointer, 1)
    }

    private typealias SelectProtocol =
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
            UnsafePointer<UInt8>?, CUnsignedInt, UnsafeMutableRawPointer?
        ) -> CInt

    /// Makes servers select HTTP/1.1 by ALPN if the client offers it; otherwise, the connection continues without ALPN.
    package func selectHTTP() {
        let select: SelectProtocol = { _, selected, selectedLength, offered, count, _ in
            guard let selected, let selectedLength, let offered else { return SSL_TLSEXT_ERR_NOACK }
            let list = UnsafeBufferPointer(start: offered, count: Int(count))
            var index = 0
            while index < list.count {
                let end = index + 1 + Int(list[index])
                guard end <= list.count else { break }
                if list[(index + 1)..<end].elementsEqual("http/1.1".utf8) {
                    // The result may be a part of the offer.
                    selected.pointee = offered + index + 1
                    selectedLength.pointee = list[index]
                    return SSL_TLSEXT_ERR_OK
                }
                index = end
            }
            return SSL_TLSEXT_ERR_NOACK
        }
        SSL_CTX_set_alpn_select_cb(pointer, select, nil)
    }
}
