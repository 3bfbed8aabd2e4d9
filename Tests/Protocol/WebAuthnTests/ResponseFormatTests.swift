// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridWebAuthn
import TestSupport
import Testing

@Suite("Formats of responses")
struct ResponseFormatTests {
    private let key = P256.Signing.PrivateKey()

    private func signedIn(_ change: (inout GetAssertionResponse) throws -> Void) throws -> [UInt8] {
        let ceremony = try RequestCeremony(Fixture.requestOptions(), origin: Fixture.origin())
        var response = try Fixture.assertion(key, hash: ceremony.clientData.hash)
        try change(&response)
        return try ceremony.responseJSON(from: response)
    }

    /// A signature of P-521 with numbers of 66 bytes.
    private static var longest: [UInt8] {
        let number = [UInt8](repeating: 1, count: 66)
        let head: [UInt8] = [0x30, 0x81, 0x88, 2, 66]
        return [head, number, [2, 66], number].flatMap(\.self)
    }

    @Test(
        "possible lengths and forms of signatures are accepted",
        arguments: [
            [UInt8](repeating: 0x11, count: 64), [UInt8](repeating: 0x30, count: 64),
            [UInt8](repeating: 0x11, count: 114), [UInt8](repeating: 0x11, count: 256),
            [UInt8](repeating: 0x30, count: 384), [UInt8](repeating: 0x11, count: 2420),
            [0x30, 6, 2, 1, 1, 2, 1, 0x7F], [0x30, 8, 2, 2, 0, 0x80, 2, 2, 0, 0xFF],
            Self.longest,
        ] as [[UInt8]]
    )
    func signatures(_ signature: [UInt8]) throws {
        #expect(throws: Never.self) { try signedIn { $0.signature = signature } }
    }

    @Test(
        "anything else instead of a signature is rejected",
        arguments: [
            [0], [UInt8](repeating: 0x11, count: 63), [UInt8](repeating: 0x11, count: 257),
            [UInt8](repeating: 0x11, count: 1032), [0x30], [0x30, 0], [0x30, 0x80], [0x31, 6, 2, 1, 1, 2, 1, 1],
            // Too short, too long, three numbers, one number, a negative one, a zero, one with zeros in front.
            [0x30, 7, 2, 1, 1, 2, 1, 1], [0x30, 6, 2, 1, 1, 2, 1, 1, 0], [0x30, 9, 2, 1, 1, 2, 1, 1, 2, 1, 1],
            [0x30, 3, 2, 1, 1], [0x30, 6, 2, 1, 1, 2, 1, 0x80], [0x30, 6, 2, 1, 1, 2, 1, 0],
            [0x30, 7, 2, 2, 0, 1, 2, 1, 1], [0x30, 5, 2, 0, 2, 1, 1], [0x30, 0x81, 6, 2, 1, 1, 2, 1, 1],
            [0x30, 6, 3, 1, 1, 2, 1, 1], [0x30, 6, 2, 4, 1, 2, 1, 1],
        ]
    )
    func otherBytes(_ signature: [UInt8]) {
        #expect(throws: ResponseCheckError.malformedSignature) { try signedIn { $0.signature = signature } }
    }

    @Test("a sign-in with a new passkey is rejected")
    func unexpectedCredential() throws {
        let created = try Fixture.created(key).authenticatorData
        #expect(throws: ResponseCheckError.unexpectedCredential) { try signedIn { $0.authenticatorData = created } }
    }

    @Test("an attestation statement reaches the website byte for byte")
    func statement() throws {
        let data = try Fixture.created(key).authenticatorData.encoded
        // Members out of canonical order, and a length in a longer form.
        let signature: [UInt8] = [0x63] + Array("sig".utf8) + [0x58, 2, 9, 9]
        let statement: [UInt8] = [0xA2] + signature + [0x63] + Array("alg".utf8) + [0x26]
        let members: [[UInt8]] = [
            [0xA3, 3], statement, [1, 0x66], Array("packed".utf8), [2], CBOREncoder.encode(.bytes(data)),
        ]
        let body = members.flatMap(\.self)
        func object(_ conveyance: String) throws -> [UInt8] {
            let options = try Fixture.creationOptions(["attestation": "\"\(conveyance)\""])
            let ceremony = try Ceremony(.creation(options), origin: Fixture.origin())
            let json = try ceremony.responseJSON(body: body, phone: Fixture.phone())
            return try Fixture.read(json).value("response").base64("attestationObject")
        }
        func name(_ head: UInt8, _ text: String) -> [UInt8] { [head] + Array(text.utf8) }
        let parts: [[UInt8]] = [
            [0xA3], name(0x63, "fmt"), name(0x66, "packed"), name(0x67, "attStmt"), statement,
            name(0x68, "authData"), CBOREncoder.encode(.bytes(data)),
        ]
        let expected = parts.flatMap(\.self)
        for conveyance in ["indirect", "direct", "enterprise"] { #expect(try object(conveyance) == expected) }
        let none = try AttestationObject(parsing: object("none"))
        #expect(none.format == "none" && none.statement.isEmpty && none.authenticatorData.encoded == data)
    }

    @Test("the longest credential ID is accepted, and a longer one is rejected")
    func credentialIDs() throws {
        let ceremony = try Ceremony(.creation(Fixture.creationOptions()), origin: Fixture.origin())
        func body(_ length: Int) throws -> [UInt8] {
            var data = try #require(RelyingPartyID("example.com")).hash.bytes + [0x45] + [0, 0, 0, 0]
            data += AAGUID.zero.bytes + [UInt8(length >> 8), UInt8(length & 0xFF)]
            data += [UInt8](repeating: 7, count: length) + COSEKey(key.publicKey).encoded
            return CBOREncoder.encode([1: "none", 2: .bytes(data), 3: [:]] as CBORMap)
        }
        let json = try Fixture.read(ceremony.responseJSON(body: body(1023), phone: Fixture.phone()))
        #expect(try json.base64("id").count == 1023)
        for length in [0, 1024] {
            expectMalformed { _ = try ceremony.responseJSON(body: body(length), phone: Fixture.phone()) }
        }
    }

    /// Both types of responses with all optional members.
    private func answers() throws -> [(ceremony: Ceremony, body: [UInt8])] {
        let asked = #"{"credProps":true,"prf":{"eval":{"first":"AA"}}}"#
        let outputs: CBORMap = ["prf": ["results": ["first": .bytes([UInt8](repeating: 3, count: 32))]]]
        let creation = try CreationCeremony(
            Fixture.creationOptions(["extensions": asked, "attestation": "\"direct\""]),
            origin: Fixture.origin()
        )
        var created = try Fixture.created(key)
        created.format = "packed"
        created.attestationStatement = ["alg": -7, "sig": .bytes([1, 2, 3])]
        created.unsignedExtensionOutputs = outputs
        let request = try RequestCeremony(
            Fixture.requestOptions(["extensions": #"{"prf":{"eval":{"first":"AA"}}}"#]),
            origin: Fixture.origin()
        )
        var assertion = try Fixture.assertion(key, hash: request.clientData.hash)
        assertion.unsignedExtensionOutputs = outputs
        return [(.creation(creation), created.encoded), (.request(request), assertion.encoded)]
    }

    @Test("truncated responses and trailing bytes are rejected")
    func truncations() throws {
        for (ceremony, body) in try answers() {
            #expect(throws: Never.self) { try ceremony.responseJSON(body: body, phone: Fixture.phone()) }
            for length in body.indices {
                expectMalformed { _ = try ceremony.responseJSON(body: Array(body[..<length]), phone: Fixture.phone()) }
            }
            expectMalformed { _ = try ceremony.responseJSON(body: body + [0], phone: Fixture.phone()) }
        }
    }

    @Test("after any flipped bit, an accepted response is for this website and unchanged")
    func bitFlips() throws {
        let site = try #require(RelyingPartyID("example.com")).hash.bytes
        for (ceremony, body) in try answers() {
            for index in body.indices {
                for bit in 0..<8 {
                    var damaged = body
                    damaged[index] ^= 1 << bit
                    guard let json = try? ceremony.responseJSON(body: damaged, phone: Fixture.phone()) else { continue }
                    let response = try Fixture.read(json).value("response")
                    let data = try response.base64("authenticatorData")
                    #expect(Array(data.prefix(32)) == site && data[32] & 0x01 == 1)
                    #expect(CBORDecoder.encodedValue(of: 2, inMap: damaged) == CBOREncoder.encode(.bytes(data)))
                }
            }
        }
    }
}
