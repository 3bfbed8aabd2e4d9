// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// One of the three files of this module that use BoringSSL (see TLSClientConnection.swift). Functions:
//
// - ASN1_STRING_get0_data, ASN1_STRING_length, ASN1_TIME_to_posix, BIO_free, BIO_new_mem_buf, ERR_GET_LIB, ERR_GET_REASON,
//   ERR_clear_error, ERR_peek_last_error, GENERAL_NAMES_free, OPENSSL_free, PEM_read_bio_X509, X509_free,
//   X509_get0_notAfter, X509_get0_notBefore, X509_get_ext_d2i, i2d_X509, sk_GENERAL_NAME_num, sk_GENERAL_NAME_value

/// The contents of a certificate that a server presented, verified or not.
package struct PeerCertificate: Equatable, Sendable {
    /// The certificate (RFC 5280 §4.1) in DER.
    let der: [UInt8]
    /// Start of the validity period, in seconds since 1970; `nil` if it cannot be read.
    let notBefore: Int?
    /// End of the validity period, in seconds since 1970; `nil` if it cannot be read.
    let notAfter: Int?
    /// The subject's alternative names that are DNS names.
    let dnsNames: [[UInt8]]
    /// The subject's alternative names that are IP addresses, normally 4 or 16 bytes.
    let addresses: [[UInt8]]

    /// Reads a certificate, which the caller owns; `nil` if there is no memory.
    init?(_ certificate: OpaquePointer) {
        defer { ERR_clear_error() }
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = i2d_X509(certificate, &encoded)
        guard let encoded else { return nil }
        defer { OPENSSL_free(encoded) }
        guard length > 0 else { return nil }
        der = Array(UnsafeBufferPointer(start: encoded, count: Int(length)))
        notBefore = Self.seconds(X509_get0_notBefore(certificate))
        notAfter = Self.seconds(X509_get0_notAfter(certificate))
        (dnsNames, addresses) = Self.alternativeNames(of: certificate)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
        var seconds: Int64 = 0
        guard let time, ASN1_TIME_to_posix(time, &seconds) == 1 else { return nil }
        return Int(seconds)
    }

    /// Returns the DNS names and the addresses; none if the extension is malformed or occurs twice.
    private static func alternativeNames(of certificate: OpaquePointer) -> (names: [[UInt8]], addresses: [[UInt8]]) {
        guard let list = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else { return ([], []) }
        let all = OpaquePointer(list)
        defer { GENERAL_NAMES_free(all) }
        var (names, addresses): ([[UInt8]], [[UInt8]]) = ([], [])
        for index in 0..<sk_GENERAL_NAME_num(all) {
            guard let name = sk_GENERAL_NAME_value(all, index)?.pointee else { continue }
            // Only these types are strings; the union has other pointers for the rest.
            switch name.type {
            case GEN_DNS: names.append(bytes(of: name.d.dNSName))
            case GEN_IPADD: addresses.append(bytes(of: name.d.iPAddress))
            default: continue
            }
        }
        return (names, addresses)
    }

    private static func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
    }
}

/// Certificates in the textual encoding (RFC 7468).
enum PEMCertificates {
    /// Calls `body` with each certificate, which is freed afterwards.
    ///
    /// - Returns: True if there is at least one, no other text begins like one, and `body` returned true for all.
    static func forEach(in pem: [UInt8], _ body: (OpaquePointer) -> Bool) -> Bool {
        defer { ERR_clear_error() }
        return pem.withUnsafeBytes { bytes in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, bytes.count) else { return false }
            defer { BIO_free(bio) }
            var count = 0
            while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) {
                defer { X509_free(certificate) }
                guard body(certificate) else { return false }
                count += 1
            }
            // After the last certificate, the reader reports that there is no further start line.
            let end = ERR_peek_last_error()
            return count > 0 && ERR_GET_LIB(end) == CInt(ERR_LIB_PEM) && ERR_GET_REASON(end) == PEM_R_NO_START_LINE
        }
    }
}
