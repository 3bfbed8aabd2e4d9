// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridSSHAgent
import SSHTestSupport
import Testing

@Suite("Requests for a secret of a passkey", .timeLimit(.minutes(10)))
struct SecretRequestTests {
    private static let key = "secret-abcdefghijkl2457.invalid"
    private static let salts = PRFSalts(first: PRFSalt(checked: [UInt8](repeating: 1, count: 32)))
    private static let eval = PRFInput(salts: salts).extensionInput

    private let fixture: AuthenticatorFixture

    init() throws { fixture = try AuthenticatorFixture() }

    private func relyingParty(_ text: String = key) throws -> RelyingPartyID {
        try #require(RelyingPartyID(text, accepting: Set(RelyingPartyID.Kind.allCases)))
    }

    private func create(_ extensions: CBORMap?, for rp: String = key) async throws -> CTAPResponse {
        let entity = RelyingPartyEntity(id: try relyingParty(rp), name: rp)
        return try await fixture.create {
            ($0.relyingParty, $0.extensions) = (entity, extensions)
        }
    }

    /// Requests a signature of data, which the client states if `isStated` is true.
    private func sign(
        _ extensions: CBORMap?,
        for rp: String = key,
        data: [UInt8] = [7],
        isStated: Bool = false
    ) async throws -> CTAPResponse {
        var extensions = extensions
        if isStated { extensions = Self.with(extensions, try #require(SignedDataInput(bytes: data)).extensionInput) }
        let request = GetAssertionRequest(
            relyingPartyID: try relyingParty(rp),
            clientDataHash: try #require(ClientDataHash(bytes: Array(SHA256.hash(data: data)))),
            extensions: extensions,
            userVerification: true
        )
        return await fixture.authenticator.answer(.getAssertion(request))
    }

    private static func with(_ map: CBORMap?, _ other: CBORMap) -> CBORMap {
        CBORMap((map?.entries ?? []).map { ($0, $1) } + other.entries.map { ($0, $1) })
    }

    @Test(
        "An encryption key has 16 of a–z2–7 between secret- and .invalid",
        arguments: [
            (key, true), ("secret-aaaaaaaaaaaaaaaa.invalid", true), ("secret-zzzzzzz234567zzz.invalid", true),
            ("secret-abcdefghijkl245.invalid", false), ("secret-abcdefghijkl24577.invalid", false),
            ("secret-abcdefghijkl2451.invalid", false), ("secret-abcdefghijkl2458.invalid", false),
            ("secret-abcdefghijk-2457.invalid", false), ("secret-abcdefgh.jkl2457.invalid", false),
            ("secret-abcdefghijkl2457.example", false), ("secret-abcdefghijkl2457.invalid.example", false),
            ("www.secret-abcdefghijkl2457.invalid", false), ("secret_abcdefghijkl2457.invalid", false),
            ("ssh-abcdefghijkl2457.invalid", false), ("secret-.invalid", false), ("secret-invalid", false),
            ("ssh:secret-abcdefghijkl2457.invalid", false),
        ]
    )
    func identifiers(text: String, expected: Bool) throws {
        #expect(try relyingParty(text).isEncryptionKey == expected)
    }

    @Test("An encryption key is refused without a question to a client that does not ask for its secret")
    func unrequested() async throws {
        try fixture.addPasskey("ada", rp: Self.key)
        let id = fixture.store.passkeys[0].id
        let others: [CBORMap?] = [
            nil, [:], ["hmac-secret": true], PRFInput().extensionInput,
            PRFInput(saltsByCredential: [id: Self.salts]).extensionInput,
        ]
        for extensions in others {
            for isCreation in [true, false] {
                let response = isCreation ? try await create(extensions) : try await sign(extensions)
                await fixture.expectFailure(response, 0x14, .secretNotRequested, stored: 1)
            }
        }
        #expect(fixture.log.events == [])
    }

    @Test("An encryption key is created and used for its secret, which the user learns")
    func requested() async throws {
        let made = try MakeCredentialResponse(parsing: try await create(Self.eval).body)
        let secret = try #require(try PRFOutput(unsignedOutputs: made.unsignedExtensionOutputs))
        #expect(secret.isEnabled == true && secret.first != nil)
        await fixture.authenticator.sessionEnded()
        #expect(fixture.log.events.first == .askedPIN(.create(try relyingParty(), givingSecret: true), nil))
        fixture.log.clear()
        let signed = try GetAssertionResponse(parsing: try await sign(Self.eval).body)
        let again = try #require(try PRFOutput(unsignedOutputs: signed.unsignedExtensionOutputs))
        #expect(again.first == secret.first)
        #expect(fixture.log.events.first == .askedPIN(.signIn(try relyingParty(), givingSecret: true), nil))
    }

    @Test("An encryption key is not given under the prompt of an SSH key")
    func notForSSH() async throws {
        try fixture.addPasskey("ada", rp: Self.key)
        let login = try TestPasskey(Self.key).login(TestServer.session(1))
        for data in [login, messageData()] {
            let response = try await sign(Self.eval, data: data, isStated: true)
            await fixture.expectFailure(response, 0x02, .signedDataUnrecognized, stored: 1)
        }
        let created = try await create(Self.with(Self.eval, SignedDataKind.ssh.extensionInput))
        await fixture.expectFailure(created, 0x02, .noSSHApplication, stored: 1)
        #expect(fixture.log.events == [])
    }

    @Test("The user learns that a client also gets a secret, and only then")
    func otherSites() async throws {
        let site = fixture.relyingParty
        let ada = try fixture.addPasskey("ada")
        let byCredential = PRFInput(saltsByCredential: [ada.id: Self.salts]).extensionInput
        let unknown: CBORMap? = ["hmac-secret": true]
        for (extensions, givesSecret) in [
            (nil, false), (unknown, false), (PRFInput().extensionInput, false), (Self.eval, true), (byCredential, true),
        ] {
            let other = try SecretRequestTests()
            other.fixture.store.put(ada)
            #expect(try await other.sign(extensions, for: site.text).status == .success)
            #expect(other.fixture.log.events.first == .askedPIN(.signIn(site, givingSecret: givesSecret), nil))
        }
        for (extensions, givesSecret) in [(unknown, false), (PRFInput().extensionInput, false), (Self.eval, true)] {
            let other = try SecretRequestTests()
            #expect(try await other.create(extensions, for: site.text).status == .success)
            #expect(other.fixture.log.events.first == .askedPIN(.create(site, givingSecret: givesSecret), nil))
        }
    }

    @Test("The user learns that a client also gets a secret of an SSH key")
    func sshKey() async throws {
        let party = try relyingParty("ssh-abc.invalid")
        try fixture.addPasskey("ada", rp: party.text, kind: .ssh)
        let data = messageData()
        let content = try SignedData(parsing: data).content
        for (extensions, givesSecret) in [(nil, false), (Self.eval, true)] {
            await fixture.authenticator.sessionEnded()
            fixture.log.clear()
            #expect(try await sign(extensions, for: party.text, data: data, isStated: true).status == .success)
            let expected = RequestedOperation.signSSH(party, content, givingSecret: givesSecret)
            #expect(fixture.log.events.first == .askedPIN(expected, nil))
        }
    }
}
