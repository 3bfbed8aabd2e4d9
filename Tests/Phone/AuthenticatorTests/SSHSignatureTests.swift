// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import HybridSSHAgent
import SSHTestSupport
import Testing

@Suite("Signatures for SSH", .timeLimit(.minutes(10)))
struct SSHSignatureTests {
    private static let kinds = Set(RelyingPartyID.Kind.allCases)

    private let fixture: AuthenticatorFixture
    private let server = TestServer()

    init() throws { fixture = try AuthenticatorFixture() }

    private func relyingParty(_ text: String) throws -> RelyingPartyID {
        try #require(RelyingPartyID(text, accepting: Self.kinds))
    }

    /// Adds a passkey with the key of an SSH key to the store.
    @discardableResult
    private func add(_ peer: TestPasskey, _ kind: SignedDataKind? = .ssh, discoverable: Bool = true) throws -> Passkey {
        let passkey = Passkey(
            id: try #require(CredentialID(bytes: Array(SHA256.hash(data: peer.key.rawRepresentation)))),
            relyingParty: try relyingParty("\(peer.application)"),
            user: try AuthenticatorFixture.account("work laptop"),
            privateKey: peer.key,
            isBackupEligible: true,
            isDiscoverable: discoverable,
            signedDataKind: kind
        )
        fixture.store.put(passkey)
        return passkey
    }

    /// Requests a signature of data for a relying party.
    ///
    /// - Parameters:
    ///   - data: The stated data; `nil` to state none.
    ///   - signed: The data whose hash is signed; `nil` for the stated data.
    private func request(
        _ data: [UInt8]?,
        for rp: String,
        signing signed: [UInt8]? = nil,
        allow: [CredentialDescriptor] = []
    ) async throws -> CTAPResponse {
        let hash = SHA256.hash(data: signed ?? data ?? [7])
        let request = GetAssertionRequest(
            relyingPartyID: try relyingParty(rp),
            clientDataHash: try #require(ClientDataHash(bytes: Array(hash))),
            allowList: allow,
            extensions: try data.map { try #require(SignedDataInput(bytes: $0)).extensionInput },
            userVerification: true
        )
        let parsed = try CTAPRequest(parsing: CTAPRequest.getAssertion(request).encoded, accepting: Self.kinds)
        return await fixture.authenticator.answer(parsed)
    }

    /// Checks that a response is a signature for SSH, and that the user saw what is signed.
    private func expectSignature(_ response: CTAPResponse, _ data: [UInt8], by peer: TestPasskey) throws {
        let parsed = try GetAssertionResponse(parsing: response.body)
        let signed = try SignedData(parsing: data, for: peer.publicKey)
        _ = try SSHSignature(
            derSignature: parsed.signature,
            authenticatorData: parsed.authenticatorData.encoded,
            by: peer.publicKey,
            over: signed
        )
        let party = try relyingParty("\(peer.application)")
        #expect(fixture.log.events.first == .askedPIN(.signSSH(party, signed.content), nil))
    }

    @Test(
        "An SSH key signs logins and messages, which the user sees",
        arguments: ["ssh-abc.invalid", "ssh:", "ssh:work"],
        [true, false]
    )
    func signatures(application: String, isNamed: Bool) async throws {
        let peer = try TestPasskey(application)
        let passkey = try add(peer)
        let allow = isNamed ? [passkey.descriptor] : []
        let login = try peer.login(TestServer.session(1), hostKey: server.blob)
        for data in [login, try peer.login(TestServer.session(2)), messageData(), messageData(namespace: "file")] {
            let other = try SSHSignatureTests()
            try other.add(peer)
            try other.expectSignature(try await other.request(data, for: application, allow: allow), data, by: peer)
        }
        guard case .login(let shown) = try SignedData(parsing: login).content else {
            Issue.record("the data is a login")
            return
        }
        let hostKey = try server.hostKey
        #expect("\(shown.user)" == "ada" && shown.hostKey == hostKey)
    }

    @Test("Data that is not what is signed is refused before the user is asked")
    func mismatch() async throws {
        let peer = try TestPasskey("ssh-abc.invalid")
        try add(peer)
        let data = try peer.login(TestServer.session(1), user: "ada")
        let signed = try peer.login(TestServer.session(1), user: "root")
        let response = try await request(data, for: "ssh-abc.invalid", signing: signed)
        await fixture.expectFailure(response, 0x02, .signedDataMismatch, stored: 1)
        #expect(fixture.log.events == [])
    }

    @Test("Only data that parses completely as SSH is signed")
    func unrecognized() async throws {
        let peer = try TestPasskey("ssh-abc.invalid")
        try add(peer)
        let login = try peer.login(TestServer.session(1), hostKey: server.blob)
        let clientData = Array(#"{"type":"webauthn.get","challenge":"AAAA","origin":"https://ssh-abc.invalid"}"#.utf8)
        let elsewhere = try TestPasskey("other.invalid").login(TestServer.session(1))
        let cut = (1..<login.count).map { Array(login.prefix($0)) }
        for data in [clientData, elsewhere, login + [0], messageData() + [0]] + cut {
            #expect(try await request(data, for: "ssh-abc.invalid").encoded == [0x02])
            #expect(await fixture.authenticator.lastFailure == .signedDataUnrecognized)
        }
        #expect(fixture.log.events == [])
    }

    @Test("Data for SSH is refused for relying parties that SSH does not have")
    func otherRelyingParty() async throws {
        try fixture.addPasskey("ada", rp: "pam://desk")
        await fixture.expectFailure(
            try await request(messageData(), for: "pam://desk"),
            0x02,
            .signedDataUnrecognized,
            stored: 1
        )
    }

    @Test("A login is signed only with the key that it names")
    func otherKey() async throws {
        let peer = try TestPasskey("ssh-abc.invalid")
        let passkey = try add(peer)
        let data = try TestPasskey("ssh-abc.invalid").login(TestServer.session(1))
        let response = try await request(data, for: "ssh-abc.invalid", allow: [passkey.descriptor])
        await fixture.expectFailure(response, 0x2E, .noPasskey, stored: 1)
        #expect(fixture.log.events.contains(.notified(.noPasskey, passkey.relyingParty)))
    }

    @Test("An SSH key signs nothing that the client does not state", arguments: ["ssh.example.org", "ssh:work"])
    func unstated(application: String) async throws {
        let passkey = try add(try TestPasskey(application))
        for allow in [[passkey.descriptor], []] {
            let response = try await request(nil, for: application, allow: allow)
            #expect(response.encoded == [0x2E])
            #expect(await fixture.authenticator.lastFailure == .signedDataMissing)
        }
        #expect(fixture.log.events.count { $0 == .notified(.dataNotStated, passkey.relyingParty) } == 2)
    }

    @Test("A website is offered its own passkeys, not the SSH keys of the same domain")
    func website() async throws {
        let passkey = try fixture.addPasskey("ada", rp: "ssh.example.org")
        let key = try add(try TestPasskey("ssh.example.org"))
        let response = try await request(nil, for: "ssh.example.org", allow: [passkey.descriptor, key.descriptor])
        #expect(response.status == .success)
        #expect(fixture.log.events.contains(.chose([passkey.user], passkey.relyingParty)))
    }

    @Test("A passkey that was not created for SSH signs a login that names it, shown as a login")
    func ordinaryPasskey() async throws {
        let peer = try TestPasskey("ssh.example.org")
        try add(peer, nil)
        let data = try peer.login(TestServer.session(1), hostKey: server.blob)
        try expectSignature(try await request(data, for: "ssh.example.org"), data, by: peer)
    }

    @Test("OpenSSH's own keys sign without the data, as nothing can state it", arguments: ["ssh:", "ssh:work"])
    func openSSH(application: String) async throws {
        let passkey = try add(try TestPasskey(application), nil)
        #expect(try await request(nil, for: application, allow: [passkey.descriptor]).status == .success)
        #expect(fixture.log.events.first == .askedPIN(.signIn(passkey.relyingParty), nil))
    }

    @Test("Another computer's login is signed")
    func pam() async throws {
        let passkey = try fixture.addPasskey("ada", rp: "pam://desk")
        #expect(try await request(nil, for: "pam://desk", allow: [passkey.descriptor]).status == .success)
    }
}

@Suite("Creation of SSH keys", .timeLimit(.minutes(10)))
struct SSHKeyCreationTests {
    private func create(
        _ fixture: AuthenticatorFixture,
        _ rp: String,
        _ kind: SignedDataKind?
    ) async throws
        -> CTAPResponse
    {
        let id = try #require(RelyingPartyID(rp, accepting: Set(RelyingPartyID.Kind.allCases)))
        return try await fixture.create {
            $0.relyingParty = RelyingPartyEntity(id: id, name: rp)
            $0.extensions = kind?.extensionInput
        }
    }

    @Test("A request with the extension creates an SSH key, without an attestation", arguments: ["a.invalid", "ssh:"])
    func kind(rp: String) async throws {
        let fixture = try AuthenticatorFixture()
        let response = try MakeCredentialResponse(parsing: try await create(fixture, rp, .ssh).body)
        let stored = try #require(fixture.store.passkeys.first)
        #expect(stored.signedDataKind == .ssh)
        #expect(fixture.log.events.first == .askedPIN(.create(stored.relyingParty, for: .ssh), nil))
        #expect(response.format == AttestationObject.noneFormat, "the key signs SSH data only")
    }

    @Test(
        "Without the extension, a passkey signs any data, whatever its relying party",
        arguments: ["a.invalid", "ssh:"]
    )
    func noKind(rp: String) async throws {
        let fixture = try AuthenticatorFixture()
        #expect(try await create(fixture, rp, nil).status == .success)
        #expect(try #require(fixture.store.passkeys.first).signedDataKind == nil)
    }

    @Test("There is no SSH key for a relying party that SSH does not have")
    func application() async throws {
        let fixture = try AuthenticatorFixture()
        await fixture.expectFailure(try await create(fixture, "pam://desk", .ssh), 0x02, .noSSHApplication)
        #expect(fixture.log.events == [])
    }

    @Test("A website does not replace an SSH key, nor an SSH key a passkey of the website")
    func replacement() async throws {
        let fixture = try AuthenticatorFixture()
        for kind in [SignedDataKind.ssh, nil, .ssh] {
            #expect(try await create(fixture, "ssh.example.org", kind).status == .success)
            await fixture.authenticator.responseSent()
            try await fixture.authenticator.responseDelivered()
        }
        #expect(fixture.store.passkeys.map(\.signedDataKind) == [.ssh, nil], "the second SSH key replaced the first")
    }
}
