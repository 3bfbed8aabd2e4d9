// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridBoringTLS
import Testing

@testable import HybridRelayCore

@Suite("Files that are no certificates or keys in PEM")
struct CertificateFaultTests {
    private static func sentence(_ certificate: [UInt8], _ key: [UInt8]) -> String? {
        do throws(RelayCertificate.LoadError) {
            _ = try RelayCertificate.context(certificate: certificate, key: key)
            return nil
        } catch {
            return error.sentence
        }
    }

    private static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

    /// Writes files with openssl; returns their bytes by name.
    private static func files() async throws -> [String: [UInt8]] {
        let made = try await CertificateFiles()
        let folder = made.directory
        try await made.issue("leaf", by: "own")
        let (certificate, key) = ("\(folder)/leaf.pem", "\(folder)/leaf.key")
        for (name, command) in [
            ("der", ["x509", "-in", certificate, "-outform", "der"]),
            ("key.der", ["pkey", "-in", key, "-outform", "der"]),
            ("csr.der", ["req", "-in", "\(folder)/leaf.csr", "-outform", "der"]),
            ("p12", ["pkcs12", "-export", "-in", certificate, "-inkey", key, "-passout", "pass:x"]),
            ("p7", ["crl2pkcs7", "-nocrl", "-certfile", certificate]),
            ("p7.der", ["crl2pkcs7", "-nocrl", "-certfile", certificate, "-outform", "der"]),
            ("trusted", ["x509", "-in", certificate, "-trustout", "-addtrust", "serverAuth"]),
            ("encrypted", ["pkey", "-in", key, "-aes256", "-passout", "pass:x"]),
            ("old-encrypted", ["ec", "-in", key, "-aes256", "-passout", "pass:x"]),
            ("public", ["pkey", "-in", key, "-pubout"]),
        ] {
            try await CertificateFiles.openssl(command + ["-out", "\(folder)/\(name)"])
        }
        let names = [
            "leaf.pem", "leaf.key", "leaf.csr", "own.pem", "der", "key.der", "csr.der", "p12", "p7", "p7.der",
            "trusted",
            "encrypted", "old-encrypted", "public",
        ]
        return Dictionary(uniqueKeysWithValues: try names.map { ($0, try Self.bytes("\(folder)/\($0)")) })
    }

    @Test("Each kind of file is named, with what to do about it")
    func kinds() async throws {
        var files = try await Self.files()
        let (certificate, key) = (files["leaf.pem", default: []], files["leaf.key", default: []])
        #expect(Self.sentence(certificate, key) == nil)
        let utf16: [UInt8] = [0xFF, 0xFE] + certificate.flatMap { [$0, 0] as [UInt8] }
        files["empty"] = []
        files["blank"] = [0x0A, 0x20]
        files["binary"] = [7, 1, 2, 3, 0xFF]
        files["text"] = Array("0 hello\n".utf8)
        files["UTF-16"] = utf16
        files["UTF-16 without a mark"] = Array(utf16.dropFirst(2))
        files["damaged"] = certificate + certificate.prefix(certificate.count / 2)
        files["CR"] = certificate.map { $0 == 0x0A ? 0x0D : $0 }
        files["indented"] = [0x20] + certificate.flatMap { ($0 == 0x0A ? [0x0A, 0x20] : [$0]) as [UInt8] }
        files["damaged key"] = Array(key.prefix(key.count / 2))
        let other = "use the file with the certificate and those of its issuers"
        let request = "it is a request for a certificate (CSR); use the certificate that the authority has made"
        let certificates = [
            "empty": "it is empty; \(other)", "blank": "it is empty; \(other)",
            "binary": "it is binary data; \(other)",
            "text": "it has no line -----BEGIN CERTIFICATE-----; \(other)",
            "UTF-16": "it is UTF-16 text; save it as ASCII or UTF-8",
            "UTF-16 without a mark": "it is UTF-16 text; save it as ASCII or UTF-8",
            "damaged": "certificate 2 in it is damaged; get it again from its authority",
            "CR": "its lines end with CR alone; save it with line ends of Unix",
            "indented": "its lines begin with spaces; remove them",
            "leaf.key": "it is a private key; \(other)", "key.der": "it is a private key; \(other)",
            "public": "it is the other half of a private key; \(other)", "leaf.csr": request, "csr.der": request,
            "der": "it is DER; convert it: openssl x509 -inform der -in FILE -out NEW",
            "p12": "it is PKCS #12; convert it: openssl pkcs12 -nokeys -in FILE -out NEW",
            "p7": "it is PKCS #7; convert it: openssl pkcs7 -print_certs -in FILE -out NEW",
            "p7.der": "it is PKCS #7; convert it: openssl pkcs7 -inform der -print_certs -in FILE -out NEW",
            "trusted": "it has OpenSSL's form of a trusted certificate; convert it: openssl x509 -in FILE",
        ]
        for (name, says) in certificates {
            let sentence = Self.sentence(try #require(files[name]), key) ?? "no error"
            let expected = "the certificate can't be read as certificates (PEM): \(says)"
            #expect(sentence.hasPrefix(expected), "\(name): \(sentence)")
        }
        let otherKey = "use the file with the key of the certificate"
        let keys = [
            "empty": "it is empty; \(otherKey)", "der": "it has certificates and no private key; \(otherKey)",
            "leaf.pem": "it has certificates and no private key; \(otherKey)",
            "encrypted": "it is encrypted; decrypt it: openssl pkey -in FILE -out NEW",
            "old-encrypted": "it is encrypted; decrypt it: openssl pkey -in FILE -out NEW",
            "key.der": "it is DER; convert it: openssl pkey -inform der -in FILE -out NEW",
            "p12": "it is PKCS #12; convert it: openssl pkcs12 -nocerts -noenc -in FILE -out NEW",
            "damaged key": "it is damaged, or a key of a kind that can't be used",
        ]
        for (name, says) in keys {
            let sentence = Self.sentence(certificate, try #require(files[name])) ?? "no error"
            #expect(sentence.hasPrefix("the key can't be read as a private key (PEM): \(says)"), "\(name): \(sentence)")
        }
        for file in files.values {
            for count in [1, 2, 3, 4, 5, 16, file.count / 2] {
                for wanted in [PEMFault.Wanted.certificates, .key] {
                    #expect(!PEMFault(in: Array(file.prefix(count)), wanted: wanted).reason.isEmpty)
                }
            }
        }
    }

    @Test("A chain that begins with an authority is named, and BoringSSL's own words are not shown")
    func order() async throws {
        let made = try await CertificateFiles()
        let authority = try await made.create(
            "ca",
            key: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-addext", "keyUsage=critical,keyCertSign"]
        )
        try await made.issue("leaf", by: "ca")
        let chain = try Self.bytes(authority.certificate) + Self.bytes("\(made.directory)/leaf.pem")
        let sentence = Self.sentence(chain, try Self.bytes("\(made.directory)/leaf.key"))
        #expect(
            sentence?.contains("put the relay's own first, before those of its issuers") == true,
            "\(sentence ?? "")"
        )
    }
}
