// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import Testing

@Suite("Attestation formats", .timeLimit(.minutes(10)))
struct AttestationTests {
    @Test(
        "A client that prefers packed, or has no preference, gets packed; others get none",
        arguments: [
            ([], "packed"), (["none"], "none"), (["packed"], "packed"), (["tpm", "packed", "none"], "packed"),
            (["none", "packed"], "none"), (["tpm", "android-key"], "none"), (["Packed", "packed "], "none"),
        ] as [([String], String)]
    )
    func format(wish: [String], format: String) async throws {
        let fixture = try AuthenticatorFixture()
        let response = try await fixture.create { $0.attestationFormats = wish }
        let made = try MakeCredentialResponse(parsing: response.body)
        #expect(made.format == format)
        #expect(made.attestationStatement.isEmpty == (format == "none"))
    }

    @Test("A self attestation is encoded as expected and signed by the new key")
    func packed() async throws {
        let fixture = try AuthenticatorFixture()
        let response = try await fixture.create { $0.attestationFormats = ["packed"] }
        let stored = try #require(fixture.store.passkeys.first)
        let made = try MakeCredentialResponse(parsing: response.body)
        let data = made.authenticatorData.encoded
        let signature = try #require(made.attestationStatement["sig"]?.bytes)
        var body: [UInt8] = [0xA3, 0x01, 0x66]
        body += Array("packed".utf8)
        body += [0x02, 0x58, UInt8(data.count)]
        body += data
        // {"alg": -7, "sig": …}
        body += [0x03, 0xA2, 0x63]
        body += Array("alg".utf8)
        body += [0x26, 0x63]
        body += Array("sig".utf8)
        body += [0x58, UInt8(signature.count)]
        body += signature
        #expect(response.encoded == [0] + body)
        let parsed = try P256.Signing.ECDSASignature(derRepresentation: signature)
        #expect(stored.privateKey.publicKey.isValidSignature(parsed, for: data + fixture.hash.bytes))
        #expect(!stored.privateKey.publicKey.isValidSignature(parsed, for: data))
    }

    @Test("Any client data hash of 32 bytes is signed as it is", arguments: [0x00, 0x5A, 0xFF] as [UInt8])
    func hash(byte: UInt8) async throws {
        let fixture = try AuthenticatorFixture()
        let hash = try #require(ClientDataHash(bytes: [UInt8](repeating: byte, count: 32)))
        let made = try MakeCredentialResponse(
            parsing: try await fixture.create {
                $0.clientDataHash = hash
                $0.attestationFormats = ["packed"]
            }.body
        )
        let key = try #require(made.authenticatorData.attestedCredential?.publicKey.p256)
        let attested = try P256.Signing.ECDSASignature(
            derRepresentation: try #require(made.attestationStatement["sig"]?.bytes)
        )
        #expect(key.isValidSignature(attested, for: made.authenticatorData.encoded + hash.bytes))
        var request = fixture.signIn()
        request.clientDataHash = hash
        let used = try GetAssertionResponse(parsing: await fixture.authenticator.answer(.getAssertion(request)).body)
        let signature = try P256.Signing.ECDSASignature(derRepresentation: used.signature)
        #expect(key.isValidSignature(signature, for: used.authenticatorData.encoded + hash.bytes))
    }
}
