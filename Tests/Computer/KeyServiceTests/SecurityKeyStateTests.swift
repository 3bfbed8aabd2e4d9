// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCTAP
import HybridCommandSupport
import HybridProgram
import HybridSecurityKey
import TestSupport
import Testing

@testable import HybridKeyService

@Suite("The memory of the security key on disk")
struct CredentialMemoryStoreTests {
    private let relyingParty = RelyingPartyID("ssh:", accepting: [.ssh])

    @Test("Credentials survive a restart, in files for their user alone, and are forgotten on demand")
    func store() async throws {
        try await TestFolder.with { folder in
            let state = try StateFolder(path: folder.path + "/state")
            let store = CredentialMemoryStore(in: state)
            let id = try #require(CredentialID(bytes: [1, 2]))
            let relyingParty = try #require(relyingParty)
            #expect(try store.memory().count == 0)
            try store.add(id, of: relyingParty)
            let other = CredentialMemoryStore(in: try StateFolder(path: state.path))
            let memory = try other.memory()
            #expect(memory.contains(id, of: relyingParty, key: try other.installationKey()))
            for name in [CredentialMemoryStore.fileName, CredentialMemoryStore.secretName] {
                let attributes = try FileManager.default.attributesOfItem(atPath: state.file(name))
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
            try other.forget()
            #expect(try store.memory().count == 0)
        }
    }

    @Test("Damaged files are refused, and forgetting replaces a damaged memory")
    func damage() async throws {
        try await TestFolder.with { folder in
            let state = try StateFolder(path: folder.path + "/state")
            let store = CredentialMemoryStore(in: state)
            try state.replace(CredentialMemoryStore.fileName, with: [0xA0])
            #expect(throws: CommandFailure.self) { try store.memory() }
            try store.forget()
            #expect(try store.memory().count == 0)
            for length in [0, 31, 33] {
                try state.replace(CredentialMemoryStore.secretName, with: [UInt8](repeating: 1, count: length))
                #expect(throws: CommandFailure.self) { try store.installationKey() }
            }
        }
    }
}

@Suite("Enrolment for pam_u2f")
struct PAMEnrolmentTests {
    private let key = P256.Signing.PrivateKey()

    private func make(
        _ user: String = "ada",
        _ host: String = "desk",
        _ service: String = "sudo"
    ) -> PAMEnrolment? {
        var generator = SystemRandomNumberGenerator()
        return PAMEnrolment(user: user, host: host, service: service, using: &generator)
    }

    private func answer(
        _ relyingParty: String = "pam://desk/sudo",
        flags: AuthenticatorData.Flags = [.userPresent, .userVerified]
    ) throws -> [UInt8] {
        let data = AuthenticatorData(
            relyingPartyIDHash: try #require(RelyingPartyID(relyingParty, accepting: [.pam])).hash,
            flags: flags,
            signatureCount: 0,
            attestedCredential: AttestedCredential(
                aaguid: .zero,
                id: try #require(CredentialID(bytes: [0xFB, 0xFF])),
                publicKey: COSEKey(key.publicKey)
            )
        )
        return CTAPResponse.success(MakeCredentialResponse(authenticatorData: data).encoded).encoded
    }

    @Test("The line has account, credential, point and options")
    func line() throws {
        let enrolment = try #require(make())
        #expect(enrolment.request.relyingParty.id.text == "pam://desk/sudo")
        #expect(enrolment.request.userVerification && enrolment.request.user.name == "ada")
        let (credential, line, fingerprint) = try #require(enrolment.enrolment(in: try answer()))
        #expect(credential.bytes == [0xFB, 0xFF])
        let point = Data(key.publicKey.rawRepresentation).base64EncodedString()
        #expect(line == "ada:+/8=,\(point),es256,+presence+verification")
        let hash = Data(SHA256.hash(data: COSEKey(key.publicKey).encoded)).base64EncodedString()
        #expect(fingerprint + "=" == "SHA256:" + hash)
    }

    @Test("Other answers, and answers without verification of the user, are refused")
    func answers() throws {
        let enrolment = try #require(make())
        let bad = [
            try answer("pam://desk"), try answer("pam://desk/su"), try answer(flags: [.userPresent]),
            try answer(flags: [.userVerified]), [],
            [0x27],
            Array(try answer().dropLast()),
        ]
        for bytes in bad { #expect(enrolment.enrolment(in: bytes) == nil) }
    }

    @Test("Names that could add a field or a line to the file are refused")
    func names() {
        for user in ["", "a:b", "a,b", "a\nb", "a b", "ä", String(repeating: "a", count: 65)] {
            #expect(make(user) == nil, "\(user)")
        }
        for host in ["", "a b", "a/b", "ä", String(repeating: "a", count: 201)] {
            #expect(make("ada", host) == nil, "\(host)")
        }
        for service in ["", "a b", "a/b", String(repeating: "a", count: 65)] {
            #expect(make("ada", "desk", service) == nil, "\(service)")
        }
        #expect(make("ada.l-1_2@corp$", "desk-1.example", "polkit-1") != nil)
    }
}

@Suite("Purposes of requests to the security key")
struct KeyRequestDescriptionTests {
    @Test("A purpose names the relying party as what it is")
    func purposes() throws {
        for (id, created, signed) in [
            ("example.com", "create a passkey for example.com", "sign in to example.com"),
            ("ssh:work", "create an ssh key (ssh:work)", "sign with an ssh key (ssh:work)"),
            (
                "pam://desk", "enrol the phone for pam://desk",
                "confirm a sign-in (service unknown) on pam://desk"
            ),
            ("pam://desk/sudo", "enrol the phone for pam://desk/sudo", "confirm sudo on pam://desk/sudo"),
        ] {
            let id = try #require(RelyingPartyID(id, accepting: Set(RelyingPartyID.Kind.allCases)))
            #expect(SecurityKeyRequestDescription(id, isRegistration: true).text == created)
            #expect(SecurityKeyRequestDescription(id, isRegistration: false).text == signed)
        }
    }

    @Test("A prompt learns the request, and the question only if there is one")
    func events() throws {
        let description = SecurityKeyRequestDescription(
            try #require(RelyingPartyID("example.com")),
            isRegistration: false
        )
        let request = #"{"event":"request","operation":"sign-in","rp_id":"example.com","timeout_ms":1000}"#
        #expect(description.event(timeout: .seconds(1)) == request)
        let question = #"{"event":"state","state":"use-phone"}"#
        #expect(description.event(timeout: .seconds(1), asksFirst: true) == request + "\n" + question)
        #expect(
            SecurityKeyRequestDescription.selection(timeout: .seconds(1))
                == #"{"event":"request","operation":"select","timeout_ms":1000}"# + "\n" + question
        )
    }
}
