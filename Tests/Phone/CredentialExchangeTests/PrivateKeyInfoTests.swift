// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport
import Testing

@testable import HybridCredentialExchange

@Suite("Private keys in PKCS#8")
struct PrivateKeyInfoTests {
    private let key = P256.Signing.PrivateKey()

    private func read(_ der: [UInt8]) throws(PrivateKeyInfo.ParseError) -> [UInt8] {
        Array(try PrivateKeyInfo.p256(der).rawRepresentation)
    }

    private func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] = count < 0x80 ? [UInt8(count)] : [0x81, UInt8(count)]
        return [tag] + length + content
    }

    private static let p256: [UInt8] = [
        0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01,
        0x07,
    ]

    /// Returns a key with the given parts.
    private func der(
        version: [UInt8] = [2, 1, 0],
        algorithm: [UInt8] = p256,
        inner: [UInt8] = [2, 1, 1],
        scalar: [UInt8]? = nil,
        parameters: [UInt8] = [],
        point: [UInt8]? = nil,
        tail: [UInt8] = []
    ) -> [UInt8] {
        let publicKey = point.map { element(0xA1, element(3, [0] + $0)) } ?? []
        let content = inner + element(4, scalar ?? Array(key.rawRepresentation)) + parameters + publicKey
        return element(0x30, version + element(0x30, algorithm) + element(4, element(0x30, content)) + tail)
    }

    @Test("this program's keys, and every form that RFC 5958 and RFC 5915 allow")
    func good() throws {
        let raw = Array(key.rawRepresentation)
        #expect(try read(Array(key.derRepresentation)) == raw)
        #expect(try read(der()) == raw)
        let point = Array(key.publicKey.x963Representation)
        #expect(try read(der(point: point)) == raw)
        #expect(try read(der(point: Array(key.publicKey.compressedRepresentation))) == raw)
        #expect(try read(der(parameters: element(0xA0, Array(Self.p256.suffix(10))), point: point)) == raw)
        #expect(try read(der(tail: element(0xA0, [0x30, 0]))) == raw)
        #expect(try read(der(version: [2, 1, 1], tail: element(0x81, [0] + point))) == raw)
    }

    @Test("keys of other algorithms and curves are distinguished from malformed ones")
    func others() {
        let rsa: [UInt8] = [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 5, 0]
        let p384: [UInt8] = [6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 6, 5, 0x2B, 0x81, 4, 0, 0x22]
        let explicit: [UInt8] = Array(Self.p256.prefix(9)) + [0x30, 0]
        for algorithm in [rsa, p384, [6, 3, 0x2B, 0x65, 0x70], explicit] {
            #expect(throws: PrivateKeyInfo.ParseError.otherAlgorithm) { try read(der(algorithm: algorithm)) }
        }
    }

    @Test("anything else is malformed")
    func bad() throws {
        let order: [UInt8] = try #require(
            Hexadecimal.bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        )
        let other = Array(P256.Signing.PrivateKey().publicKey.x963Representation)
        let raw = Array(key.rawRepresentation)
        let cases: [[UInt8]] = [
            [], [0x30], [0x30, 0], [0x30, 0x80, 0, 0], der(version: [2, 1, 2]), der(version: [2, 1, 0xFF]),
            der(inner: [2, 1, 2]), der(scalar: [UInt8](repeating: 0, count: 32)), der(scalar: order),
            der(scalar: [0] + raw), der(scalar: Array(raw.dropLast())), der(point: other), der(point: []),
            der(point: [UInt8](repeating: 4, count: 65)), der(tail: [5, 0]), der() + [0],
            der(algorithm: Self.p256 + [5, 0]), der(parameters: element(0xA0, [6, 1, 1])),
            der(tail: element(0x81, [0] + Array(key.publicKey.x963Representation))),
            [UInt8](repeating: 0x30, count: 9000), element(0x30, Self.p256),
            element(0x30, [2, 1, 1] + element(4, raw) + element(0xA0, Array(Self.p256.suffix(10)))),
        ]
        for (index, der) in cases.enumerated() {
            #expect(throws: PrivateKeyInfo.ParseError.malformed, "\(index)") { try read(der) }
        }
        let long = der()
        // A length in more bytes than necessary.
        #expect(throws: PrivateKeyInfo.ParseError.malformed) { try read([0x30, 0x81] + long.dropFirst()) }
        #expect(throws: PrivateKeyInfo.ParseError.malformed) { try read([0x30, 0x82, 0] + long.dropFirst()) }
    }

    @Test("no truncated key is accepted, and no flipped bit yields another key")
    func damaged() {
        let whole = Array(key.derRepresentation)
        for part in Damage.truncations(of: whole) {
            #expect(throws: PrivateKeyInfo.ParseError.malformed) { try read(part) }
        }
        // The public key inside protects the private one; two values of the version are valid.
        let others = Damage.bitFlips(of: whole).compactMap { try? read($0) }.filter {
            $0 != Array(key.rawRepresentation)
        }
        #expect(others.isEmpty)
    }
}
