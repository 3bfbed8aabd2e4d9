// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import Testing

@Suite("The prf extension", .timeLimit(.minutes(10)))
struct PRFAnswerTests {
    private static let secret = [UInt8](0..<32)
    private static let one = [UInt8](repeating: 1, count: 32)
    private static let two = [UInt8](repeating: 2, count: 32)

    private static func known() throws -> PRFSecret { try #require(PRFSecret(bytes: secret)) }

    /// Returns the output of a passkey with ``secret``, computed independently as HMAC (RFC 2104).
    private static func answer(_ salt: [UInt8], secret: [UInt8] = secret) -> [UInt8] {
        let key = secret + [UInt8](repeating: 0, count: 32)
        let inner = Array(SHA256.hash(data: key.map { $0 ^ 0x36 } + salt))
        return Array(SHA256.hash(data: key.map { $0 ^ 0x5C } + inner))
    }

    private static func prf(_ members: CBORMap) -> CBORMap { ["prf": .map(members), "unheardOf": 1] }
    private static func salts(_ first: [UInt8], _ second: [UInt8]? = nil) -> CBORValue {
        var map: CBORMap = ["first": .bytes(first)]
        if let second { map["second"] = .bytes(second) }
        return .map(map)
    }

    private static func results(_ outputs: CBORMap?) -> CBORMap? { outputs?["prf"]?.map?["results"]?.map }

    @Test("Every new passkey has its own secret, requested or not")
    func secrets() async throws {
        let fixture = try AuthenticatorFixture()
        for name in ["ada", "bob"] {
            let account = try AuthenticatorFixture.account(name)
            #expect(try await fixture.create(user: account) { $0.extensions = nil }.status == .success)
        }
        let secrets = fixture.store.passkeys.compactMap { $0.prfSecret?.withUnsafeBytes { Array($0) } }
        #expect(Set(secrets).count == 2)
        #expect(secrets.allSatisfy { $0.count == 32 && Set($0).count > 8 })
    }

    @Test("A creation reports support and evaluates salts")
    func creation() async throws {
        let fixture = try AuthenticatorFixture()
        let plain = try MakeCredentialResponse(
            parsing: try await fixture.create { $0.extensions = Self.prf([:]) }.body
        )
        #expect(plain.unsignedExtensionOutputs == ["prf": ["enabled": true]])
        #expect(plain.authenticatorData.extensions == nil, "it is not signed")

        let response = try await fixture.create { $0.extensions = Self.prf(["eval": Self.salts(Self.one, Self.two)]) }
        let secret = try #require(fixture.store.passkeys.first?.prfSecret).withUnsafeBytes { Array($0) }
        let results: CBORMap = [
            "first": .bytes(Self.answer(Self.one, secret: secret)),
            "second": .bytes(Self.answer(Self.two, secret: secret)),
        ]
        let made = try MakeCredentialResponse(parsing: response.body)
        #expect(made.unsignedExtensionOutputs == ["prf": ["enabled": true, "results": .map(results)]])

        let without = try MakeCredentialResponse(parsing: try await fixture.create { $0.extensions = ["hm": 1] }.body)
        #expect(without.unsignedExtensionOutputs == nil)
    }

    @Test("The response to a sign-in is encoded as expected")
    func bytes() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada", id: 7, secret: try Self.known())
        let response = await fixture.sign(
            allow: [known.descriptor],
            extensions: Self.prf(["eval": Self.salts(Self.one, Self.two)])
        )
        let signed = try GetAssertionResponse(parsing: response.body)
        #expect(try fixture.verifies(signed, by: known))
        var body: [UInt8] = [0xA5, 0x01, 0xA2, 0x62, 0x69, 0x64, 0x58, 0x20] + known.id.bytes
        body += [0x64] + Array("type".utf8) + [0x6A] + Array("public-key".utf8)
        body += [0x02, 0x58, 0x25] + Array(SHA256.hash(data: Array("example.com".utf8))) + [0x0D, 0, 0, 0, 0]
        body += [0x03, 0x58, UInt8(signed.signature.count)] + signed.signature
        // CTAP 2.2 §6.2.2: the user handle belongs to each discoverable credential.
        body += [0x04, 0xA1, 0x62, 0x69, 0x64, 0x4D] + Array("handle of ada".utf8)
        body += [0x08, 0xA1, 0x63] + Array("prf".utf8) + [0xA1, 0x67] + Array("results".utf8)
        body += [0xA2, 0x65] + Array("first".utf8) + [0x58, 0x20] + Self.answer(Self.one)
        body += [0x66] + Array("second".utf8) + [0x58, 0x20] + Self.answer(Self.two)
        #expect(response.encoded == [0] + body)
    }

    @Test("Salts for the used credential precede those for all")
    func byCredential() async throws {
        let fixture = try AuthenticatorFixture { $0.choice = 1 }
        let secret = try Self.known()
        let ada = try fixture.addPasskey("ada", secret: secret)
        let bob = try fixture.addPasskey("bob", secret: secret)
        let extensions = Self.prf([
            "eval": Self.salts(Self.one), "evalByCredential": .map([.bytes(ada.id.bytes): Self.salts(Self.two)]),
        ])
        let listed = await fixture.sign(allow: [ada, bob].map(\.descriptor), extensions: extensions)
        let chosen = try GetAssertionResponse(parsing: listed.body)
        #expect(chosen.credential == ada.descriptor)
        #expect(Self.results(chosen.unsignedExtensionOutputs) == ["first": .bytes(Self.answer(Self.two))])
        let alone = await fixture.authenticator.answer(
            .getAssertion(fixture.signIn(allow: [ada.descriptor], extensions: extensions))
        )
        #expect(alone.status == .operationDenied, "a choice out of range")
    }

    @Test("A passkey without a secret signs without an extension output")
    func without() async throws {
        let fixture = try AuthenticatorFixture()
        let old = try fixture.addPasskey("ada")
        let response = await fixture.sign(extensions: Self.prf(["eval": Self.salts(Self.one)]))
        let signed = try GetAssertionResponse(parsing: response.body)
        #expect(try fixture.verifies(signed, by: old))
        #expect(signed.unsignedExtensionOutputs == nil)
    }

    @Test("Without salts there is no output")
    func noSalts() async throws {
        let fixture = try AuthenticatorFixture()
        try fixture.addPasskey("ada", secret: try Self.known())
        for extensions in [Self.prf([:]), ["unheardOf": true], ["hmac-secret": [1, 2]]] {
            let signed = try GetAssertionResponse(parsing: await fixture.sign(extensions: extensions).body)
            #expect(signed.unsignedExtensionOutputs == nil)
            #expect(signed.authenticatorData.extensions == nil)
        }
    }

    @Test("A secret has 32 bytes and is never printed")
    func hidden() throws {
        for count in [0, 31, 33] { #expect(PRFSecret(bytes: [UInt8](repeating: 77, count: count)) == nil) }
        let secret = try #require(PRFSecret(bytes: [UInt8](repeating: 77, count: 32)))
        var text = "\(secret) \(String(reflecting: secret))"
        dump(secret, to: &text)
        #expect(!text.contains("77"))
    }
}
