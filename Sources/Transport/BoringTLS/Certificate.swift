// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// Functions of BoringSSL in this file (see BoringSSLErrors.swift):
//
// - ASN1_STRING_get0_data, ASN1_STRING_length, ASN1_TIME_to_posix, BIO_free, BIO_new_mem_buf, ERR_GET_LIB, ERR_GET_REASON,
//   ERR_clear_error, ERR_peek_last_error, EVP_PKEY_free, GENERAL_NAMES_free, OPENSSL_cleanse, OPENSSL_free, PEM_read_bio,
//   PEM_read_bio_PrivateKey, PEM_read_bio_X509, X509_free, X509_get0_notAfter, X509_get0_notBefore, X509_get0_pubkey,
//   X509_get_ext_d2i, X509_get_issuer_name, X509_get_subject_name, X509_verify, d2i_X509, i2d_X509, i2d_X509_NAME,
//   sk_GENERAL_NAME_num, sk_GENERAL_NAME_value

/// A certificate (RFC 5280 §4.1), verified or not.
package struct Certificate: ~Copyable {
    let pointer: OpaquePointer

    /// Takes the ownership of BoringSSL's certificate.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { X509_free(pointer) }

    /// The certificate in DER; `nil` if there is no memory.
    package var der: [UInt8]? {
        defer { ERR_clear_error() }
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = i2d_X509(pointer, &encoded)
        guard let encoded else { return nil }
        defer { OPENSSL_free(encoded) }
        guard length > 0 else { return nil }
        return Array(UnsafeBufferPointer(start: encoded, count: Int(length)))
    }

    /// The subject's name in DER; empty if it cannot be read.
    package var subject: [UInt8] { Self.encoded(X509_get_subject_name(pointer)) }

    /// The issuer's name in DER; empty if it cannot be read.
    package var issuer: [UInt8] { Self.encoded(X509_get_issuer_name(pointer)) }

    private static func encoded(_ name: OpaquePointer?) -> [UInt8] {
        defer { ERR_clear_error() }
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = i2d_X509_NAME(name, &encoded)
        guard let encoded else { return [] }
        defer { OPENSSL_free(encoded) }
        return Array(UnsafeBufferPointer(start: encoded, count: max(0, Int(length))))
    }

    /// Returns true if the certificate's key has signed another certificate, which is in DER.
    package func hasSigned(_ der: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        let other = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_X509(nil, &start, bytes.count)
        }
        guard let other else { return false }
        defer { X509_free(other) }
        guard let key = X509_get0_pubkey(pointer) else { return false }
        return X509_verify(other, key) == 1
    }

    /// Start of the validity period, in seconds since 1970; `nil` if it cannot be read.
    package var notBefore: Int? { Self.seconds(X509_get0_notBefore(pointer)) }

    /// End of the validity period, in seconds since 1970; `nil` if it cannot be read.
    package var notAfter: Int? { Self.seconds(X509_get0_notAfter(pointer)) }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
        defer { ERR_clear_error() }
        var seconds: Int64 = 0
        guard let time, ASN1_TIME_to_posix(time, &seconds) == 1 else { return nil }
        return Int(seconds)
    }

    /// The DNS names and the IP addresses among the subject's alternative names.
    ///
    /// There are none if the extension is malformed or occurs twice.
    package var alternativeNames: (dnsNames: [[UInt8]], addresses: [[UInt8]]) {
        defer { ERR_clear_error() }
        guard let list = X509_get_ext_d2i(pointer, NID_subject_alt_name, nil, nil) else { return ([], []) }
        let all = OpaquePointer(list)
        defer { GENERAL_NAMES_free(all) }
        var (names, addresses): ([[UInt8]], [[UInt8]]) = ([], [])
        for index in 0..<sk_GENERAL_NAME_num(all) {
            guard let name = sk_GENERAL_NAME_value(all, index)?.pointee else { continue }
            // Only these types are strings; the union has other pointers for the rest.
            switch name.type {
            case GEN_DNS: names.append(Self.bytes(of: name.d.dNSName))
            case GEN_IPADD: addresses.append(Self.bytes(of: name.d.iPAddress))
            default: continue
            }
        }
        return (names, addresses)
    }

    private static func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
    }
}

/// Certificates and keys in the textual encoding (RFC 7468).
///
/// Byte order marks are skipped. BoringSSL would skip the block that follows one.
package enum PEM {
    /// Calls `body` with each certificate until it returns false.
    ///
    /// - Returns: The number of certificates; `nil` unless there is at least one and no other text begins like one.
    package static func certificates(in pem: [UInt8], _ body: (borrowing Certificate) -> Bool) -> Int? {
        defer { ERR_clear_error() }
        let count = withMemoryBIO(pem) { bio -> Int? in
            var count = 0
            while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) {
                count += 1
                guard body(Certificate(owning: certificate)) else { return count }
            }
            // After the last certificate, the reader reports that there is no further start line.
            let end = ERR_peek_last_error()
            let isEnd = ERR_GET_LIB(end) == CInt(ERR_LIB_PEM) && ERR_GET_REASON(end) == PEM_R_NO_START_LINE
            return count > 0 && isEnd ? count : nil
        }
        return count ?? nil
    }

    /// Calls `body` with each certificate that BoringSSL can parse; skips the others, and text that is not valid PEM.
    package static func parsableCertificates(in pem: [UInt8], _ body: (borrowing Certificate) -> Void) {
        defer { ERR_clear_error() }
        _ = withMemoryBIO(pem) { bio in
            while true {
                ERR_clear_error()
                switch nextCertificate(in: bio) {
                case .end: return
                case .notPEM: continue
                case .der(let der): if let parsed = parse(der) { body(parsed) }
                }
            }
        }
    }

    /// A certificate in a list that cannot be used.
    package struct UnusableCertificate {
        /// The number of its block in the file, from 1.
        package let number: Int
        /// The line at which the block begins, from 1.
        package let line: Int
        /// Its bytes, which BoringSSL cannot parse; `nil` if the block is damaged.
        package let der: [UInt8]?
    }

    /// Returns the certificates of a list that cannot be used, each found by the line at which its block begins.
    package static func unusableCertificates(in pem: [UInt8]) -> [UnusableCertificate] {
        defer { ERR_clear_error() }
        var (starts, isLast): ([(line: Int, index: Int)], Bool) = ([], false)
        var (line, index) = (1, 0)
        while !isLast {
            if pem[index...].starts(with: byteOrderMark) { index += byteOrderMark.count }
            if pem[index...].starts(with: "-----BEGIN ".utf8) { starts.append((line, index)) }
            let end = pem[index...].firstIndex(of: UInt8(ascii: "\n"))
            (line, index, isLast) = (line + 1, (end ?? pem.endIndex - 1) + 1, end == nil)
        }
        var (number, unusable) = (0, [UnusableCertificate]())
        for (start, next) in zip(starts, starts.dropFirst().map(\.index) + [pem.endIndex]) {
            let block = pem[start.index..<next]
            let isCertificate = ["CERTIFICATE-----", "X509 CERTIFICATE-----"].contains { label in
                block.dropFirst(11).starts(with: label.utf8)
            }
            guard isCertificate else { continue }
            number += 1
            ERR_clear_error()
            let read = withMemoryBIO(Array(block)) { nextCertificate(in: $0) }
            if case .der(let der)? = read {
                if parse(der) != nil { continue }
                unusable.append(UnusableCertificate(number: number, line: start.line, der: der))
            } else {
                unusable.append(UnusableCertificate(number: number, line: start.line, der: nil))
            }
        }
        return unusable
    }

    private static func parse(_ der: [UInt8]) -> Certificate? {
        let parsed = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_X509(nil, &start, bytes.count)
        }
        guard let parsed else { return nil }
        return Certificate(owning: parsed)
    }

    private enum Block {
        case der([UInt8])
        /// A block that is damaged or holds something else.
        case notPEM
        case end
    }

    private static func nextCertificate(in bio: OpaquePointer) -> Block {
        var (name, header): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
        var data: UnsafeMutablePointer<UInt8>?
        var length = 0
        guard PEM_read_bio(bio, &name, &header, &data, &length) == 1, let name, let data else {
            let error = ERR_peek_last_error()
            let isEnd = ERR_GET_LIB(error) != CInt(ERR_LIB_PEM) || ERR_GET_REASON(error) == PEM_R_NO_START_LINE
            return isEnd ? .end : .notPEM
        }
        defer {
            OPENSSL_free(name)
            OPENSSL_free(header)
            OPENSSL_free(data)
        }
        guard ["CERTIFICATE", "X509 CERTIFICATE"].contains(String(cString: name)) else { return .notPEM }
        return .der(Array(UnsafeBufferPointer(start: data, count: length)))
    }

    /// Calls `body` with BoringSSL's private key; `nil` if there is none that is not encrypted.
    static func withPrivateKey<Result>(in pem: [UInt8], _ body: (OpaquePointer) -> Result) -> Result? {
        // Without a callback for the passphrase, an encrypted key is not read.
        guard let key = withMemoryBIO(pem, { PEM_read_bio_PrivateKey($0, nil, nil, nil) }) ?? nil else { return nil }
        defer { EVP_PKEY_free(key) }
        return body(key)
    }

    /// Calls `body` with a BIO that reads the bytes; returns `nil` if there is no memory for it.
    private static func withMemoryBIO<Result>(_ bytes: [UInt8], _ body: (OpaquePointer) -> Result) -> Result? {
        guard bytes.contains(byteOrderMark[0]) else { return withBIO(of: bytes, body) }
        var copy = withoutMarks(bytes)
        // It may contain a key.
        defer { copy.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        return withBIO(of: copy, body)
    }

    private static func withBIO<Result>(of bytes: [UInt8], _ body: (OpaquePointer) -> Result) -> Result? {
        bytes.withUnsafeBytes { bytes -> Result? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, bytes.count) else { return nil }
            defer { BIO_free(bio) }
            return body(bio)
        }
    }

    /// The byte order mark in UTF-8.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Returns the bytes with a line end in place of each byte order mark.
    private static func withoutMarks(_ bytes: [UInt8]) -> [UInt8] {
        var rest: [UInt8] = []
        // Growing would leave a copy behind.
        rest.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let isMark = bytes[index...].starts(with: byteOrderMark)
            rest.append(isMark ? UInt8(ascii: "\n") : bytes[index])
            index += isMark ? byteOrderMark.count : 1
        }
        return rest
    }
}
