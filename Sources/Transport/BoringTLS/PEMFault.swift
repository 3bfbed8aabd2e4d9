// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// Functions of BoringSSL in this file (see BoringSSLErrors.swift):
//
// - ERR_clear_error, X509_free, d2i_X509

/// The reason why a file does not hold what its reader wants in PEM, found by looking at the file.
package struct PEMFault: Hashable, Sendable {
    /// The content that a file should have.
    package enum Wanted: Sendable {
        case certificates
        case key
    }

    /// A clause such as `it is empty`.
    package let reason: String
    /// The remedy if there is one for this kind of file, such as the command that converts it; FILE stands for its path.
    package let remedy: String?

    private init(_ reason: String, _ remedy: String? = nil) { (self.reason, self.remedy) = (reason, remedy) }

    /// Finds the reason in the bytes of a file that BoringSSL could not read.
    package init(in file: [UInt8], wanted: Wanted) {
        let text = String(decoding: file, as: UTF8.self)
        if file.allSatisfy({ $0 <= 0x20 && $0 != 0 }) {
            self.init("it is empty")
        } else if Self.isUTF16(file) {
            self.init("it is UTF-16 text", "save it as ASCII or UTF-8")
        } else if Self.isSequence(file) {
            self = Self.inDER(file, wanted)
        } else {
            let labels = Self.labels(in: text)
            self = labels.isEmpty ? Self.withoutBlocks(file, wanted) : Self.inBlocks(labels, text, file, wanted)
        }
    }

    private static func isUTF16(_ file: [UInt8]) -> Bool {
        let start = file.prefix(64)
        return [[0xFF, 0xFE], [0xFE, 0xFF]].contains(Array(start.prefix(2)))
            || start.count >= 4 && start.count(where: { $0 == 0 }) >= start.count / 2
                && start.allSatisfy { $0 < 0x80 }
    }

    /// Returns the labels of all blocks, such as `CERTIFICATE`.
    private static func labels(in text: String) -> [Substring] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            let words = line.drop { $0 == " " || $0 == "\t" || $0 == "\u{FEFF}" }
            guard words.hasPrefix("-----BEGIN ") else { return nil }
            return words.dropFirst(11).prefix { $0 != "-" }
        }
    }

    private static func withoutBlocks(_ file: [UInt8], _ wanted: Wanted) -> PEMFault {
        if file.contains(where: { $0 < 0x09 }) { return PEMFault("it is binary data") }
        let label = wanted == .certificates ? "CERTIFICATE" : "PRIVATE KEY"
        return PEMFault("it has no line -----BEGIN \(label)-----")
    }

    // MARK: PEM

    private static func inBlocks(
        _ labels: [Substring],
        _ text: String,
        _ file: [UInt8],
        _ wanted: Wanted
    ) -> PEMFault {
        let hasCertificates = labels.contains { ["CERTIFICATE", "X509 CERTIFICATE"].contains($0) }
        let hasKey = labels.contains { $0.hasSuffix("PRIVATE KEY") }
        if wanted == .certificates ? hasCertificates : hasKey {
            if let fault = layout(text) { return fault }
            return wanted == .certificates ? damagedCertificate(file) : unusableKey(labels, text)
        }
        if hasKey { return PEMFault("it is a private key") }
        if hasCertificates { return PEMFault("it has certificates and no private key") }
        switch labels[0] {
        case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": return request
        case "TRUSTED CERTIFICATE" where wanted == .certificates:
            return PEMFault("it has OpenSSL's form of a trusted certificate", convert("x509 -in FILE"))
        case "PKCS7", "CMS": return PEMFault("it is PKCS #7", convert("pkcs7 -print_certs -in FILE"))
        case "PUBLIC KEY", "RSA PUBLIC KEY": return PEMFault("it is the other half of a private key")
        default: return PEMFault("it has blocks of another type")
        }
    }

    /// Returns the reason if lines are not where BoringSSL finds them.
    private static func layout(_ text: String) -> PEMFault? {
        if !text.utf8.contains(UInt8(ascii: "\n")), text.utf8.contains(UInt8(ascii: "\r")) {
            return PEMFault("its lines end with CR alone", "save it with line ends of Unix")
        }
        let isIndented = text.split(whereSeparator: \.isNewline).contains { line in
            line.first.map { $0 == " " || $0 == "\t" } == true && line.contains("-----BEGIN ")
        }
        return isIndented ? PEMFault("its lines begin with spaces", "remove them") : nil
    }

    private static func damagedCertificate(_ file: [UInt8]) -> PEMFault {
        var number = 1
        _ = PEM.certificates(in: file) { _ in
            number += 1
            return true
        }
        return PEMFault("certificate \(number) in it is damaged", "get it again from its authority")
    }

    private static func unusableKey(_ labels: [Substring], _ text: String) -> PEMFault {
        if labels.contains("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
            return PEMFault("it is encrypted", "decrypt it: openssl pkey -in FILE -out NEW")
        }
        if labels.contains("OPENSSH PRIVATE KEY") { return PEMFault("it is a key of OpenSSH") }
        return PEMFault("it is damaged, or a key of a kind that can't be used")
    }

    // MARK: DER

    private static func inDER(_ file: [UInt8], _ wanted: Wanted) -> PEMFault {
        let content = content(of: file[...])
        // The versions of a PKCS #12 file and of a private key (PKCS #8 or SEC 1).
        if content.starts(with: [0x02, 0x01, 0x03]) {
            let command = wanted == .certificates ? "pkcs12 -nokeys -in FILE" : "pkcs12 -nocerts -noenc -in FILE"
            return PEMFault("it is PKCS #12", convert(command))
        }
        if content.starts(with: [0x02, 0x01, 0x00]) || content.starts(with: [0x02, 0x01, 0x01]) {
            guard wanted == .key else { return PEMFault("it is a private key") }
            return PEMFault("it is DER", convert("pkey -inform der -in FILE"))
        }
        // signedData, 1.2.840.113549.1.7.2.
        if content.starts(with: [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]) {
            return PEMFault("it is PKCS #7", convert("pkcs7 -inform der -print_certs -in FILE"))
        }
        if isCertificate(file) {
            guard wanted == .certificates else { return PEMFault("it has certificates and no private key") }
            return PEMFault("it is DER", convert("x509 -inform der -in FILE"))
        }
        if content.first == 0x30, Self.content(of: content).starts(with: [0x02, 0x01, 0x00]) { return request }
        return PEMFault("it is binary data")
    }

    /// Returns true for a SEQUENCE of a plausible length; text may begin with the same character.
    private static func isSequence(_ file: [UInt8]) -> Bool {
        file.count > 2 && file[0] == 0x30 && (file[1] >= 0x80 || file.count == 2 + Int(file[1]))
    }

    /// Returns the bytes after the tag and the length of an element.
    private static func content(of element: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let length = element.dropFirst().first else { return [] }
        return element.dropFirst(length < 0x80 ? 2 : 2 + Int(length & 0x7F))
    }

    private static func isCertificate(_ file: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        let certificate = file.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_X509(nil, &start, bytes.count)
        }
        guard let certificate else { return false }
        X509_free(certificate)
        return true
    }

    private static let request = PEMFault(
        "it is a request for a certificate (CSR)",
        "use the certificate that the authority has made from it"
    )

    private static func convert(_ command: String) -> String { "convert it: openssl \(command) -out NEW" }
}
