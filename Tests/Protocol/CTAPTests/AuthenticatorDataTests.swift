// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import Testing

@Suite("Authenticator data")
struct AuthenticatorDataTests {
    private func failure(_ bytes: [UInt8]) -> AuthenticatorDataError? {
        do throws(AuthenticatorDataError) {
            _ = try AuthenticatorData(parsing: bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test("all parts survive the round trip, with and without the optional ones")
    func roundTrip() throws {
        for credential in [nil, try Samples.attested()] {
            for extensions in [nil, ["credProtect": 2] as CBORMap] {
                let data = try Samples.authenticatorData(attested: credential, extensions: extensions)
                #expect(try AuthenticatorData(parsing: data.encoded) == data)
                #expect(data.flags.contains(.attestedCredential) == (credential != nil))
                #expect(data.flags.contains(.extensions) == (extensions != nil))
            }
        }
    }

    @Test("the bytes have WebAuthn's layout")
    func layout() throws {
        let data = try Samples.authenticatorData(attested: nil)
        #expect(data.encoded.count == 37)
        #expect(Array(data.encoded[..<32]) == Array(SHA256.hash(data: Array("example.com".utf8))))
        #expect(Array(data.encoded[32...]) == [0x05, 1, 2, 3, 4])
    }

    @Test("every truncation is rejected")
    func truncations() throws {
        let data = try Samples.authenticatorData(attested: Samples.attested(), extensions: ["a": 1])
        for length in data.encoded.indices { #expect(failure(Array(data.encoded.prefix(length))) != nil) }
        #expect(failure(Array(data.encoded.prefix(36))) == .truncated)
        #expect(failure(Array(data.encoded.prefix(54))) == .truncated)
    }

    @Test("trailing bytes are rejected")
    func trailing() throws {
        let plain = try Samples.authenticatorData(attested: nil).encoded
        #expect(failure(plain + [0x00]) == .trailingBytes)
        let attested = try Samples.authenticatorData(attested: Samples.attested()).encoded
        #expect(failure(attested + [0xA0]) == .trailingBytes)
        let extended = try Samples.authenticatorData(attested: nil, extensions: [:]).encoded
        #expect(failure(extended + [0xA0]) == .trailingBytes)
    }

    @Test("flags for missing parts are rejected")
    func lyingFlags() throws {
        var bytes = try Samples.authenticatorData(attested: nil).encoded
        bytes[32] = 0x41
        #expect(failure(bytes) == .truncated)
        bytes[32] = 0x81
        #expect(failure(bytes) == .extensions)
        #expect(failure(bytes + [0x80]) == .extensions)
    }

    @Test("a credential ID that is empty or longer than the input is rejected")
    func credentialIDLength() throws {
        var bytes = try Samples.authenticatorData(attested: Samples.attested()).encoded
        (bytes[53], bytes[54]) = (0, 0)
        #expect(failure(bytes) == .credentialIDLength)
        (bytes[53], bytes[54]) = (0x04, 0x00)
        #expect(failure(bytes) == .credentialIDLength)
        (bytes[53], bytes[54]) = (0x03, 0xFF)
        #expect(failure(bytes) == .truncated)
        (bytes[53], bytes[54]) = (0xFF, 0xFF)
        #expect(failure(bytes) == .credentialIDLength)
    }

    @Test("an attestation object is canonical and survives the round trip")
    func attestationObject() throws {
        let object = try Samples.created().attestationObject
        #expect(try AttestationObject(parsing: object.encoded) == object)
        // {"fmt": "none", "attStmt": {}, "authData": …} in this order: shorter keys first.
        var head: [UInt8] = [0xA3, 0x63]
        head += Array("fmt".utf8)
        head += [0x64]
        head += Array("none".utf8)
        head += [0x67]
        head += Array("attStmt".utf8)
        head += [0xA0]
        #expect(Array(object.encoded.prefix(head.count)) == head)
        #expect(throws: CTAPResponseError.missing("attStmt")) {
            try AttestationObject(parsing: [0xA1, 0x63] + Array("fmt".utf8) + [0x60])
        }
    }
}

@Suite("COSE keys")
struct COSEKeyTests {
    private func failure(_ map: CBORMap) -> COSEKeyError? {
        do throws(COSEKeyError) {
            _ = try COSEKey(parsing: CBOREncoder.encode(map))
            return nil
        } catch {
            return error
        }
    }

    @Test("an ES256 key survives the round trip and verifies")
    func roundTrip() throws {
        let key = try COSEKey(parsing: COSEKey(Samples.key.publicKey).encoded)
        #expect(key.algorithm == .es256)
        let signature = try Samples.key.signature(for: [1, 2, 3])
        #expect(try #require(key.p256).isValidSignature(signature, for: [1, 2, 3]))
        // {1: 2, 3: -7, -1: 1, -2: …} as in WebAuthn.
        #expect(Array(key.encoded.prefix(10)) == [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20])
        #expect(key.encoded.count == 77)
    }

    @Test("a key for another algorithm keeps its bytes")
    func otherAlgorithms() throws {
        let bytes = CBOREncoder.encode([1: 1, 3: -8, -1: 6, -2: .bytes([1])] as CBORMap)
        let key = try COSEKey(parsing: bytes)
        #expect(key.algorithm == .edDSA && key.encoded == bytes && key.p256 == nil)
    }

    @Test("a key that is not a point of P-256 is rejected")
    func notOnCurve() {
        let good = COSEKey(Samples.key.publicKey).parameters
        #expect(failure(good) == nil)
        let zeros = CBORValue.bytes([UInt8](repeating: 0, count: 32))
        let ones = CBORValue.bytes([UInt8](repeating: 0xFF, count: 32))
        for (x, y) in [(zeros, zeros), (ones, ones), (.bytes([]), zeros), (.bytes([1]), .bytes([1]))] {
            var map = good
            map[-2] = x
            map[-3] = y
            #expect(failure(map) == .pointNotOnCurve)
        }
    }

    @Test("missing, wrong and unsupported parameters have different errors")
    func parameters() {
        let good = COSEKey(Samples.key.publicKey).parameters
        let cases: [(Int, CBORValue?, COSEKeyError)] = [
            (1, nil, .missingParameter), (3, nil, .missingParameter), (3, "ES256", .missingParameter),
            (1, 3, .unsupportedCurve), (-1, 2, .unsupportedCurve), (-1, nil, .unsupportedCurve),
            (-2, nil, .missingParameter), (-3, nil, .missingParameter), (-3, true, .missingParameter),
        ]
        for (key, value, error) in cases {
            var map = good
            map[.integer(key)] = value
            #expect(failure(map) == error)
        }
    }

    @Test("input other than a single map is rejected")
    func malformed() {
        #expect(throws: COSEKeyError.cbor(.truncated)) { try COSEKey(parsing: []) }
        #expect(throws: COSEKeyError.notAMap) { try COSEKey(parsing: [0x80]) }
        let bytes = COSEKey(Samples.key.publicKey).encoded
        #expect(throws: COSEKeyError.cbor(.trailingBytes)) { try COSEKey(parsing: bytes + [0]) }
    }
}
