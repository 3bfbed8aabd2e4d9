// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridRelyingParty
import HybridWebAuthn
import TestSupport
import Testing

@Suite("Ceremonies of a relying party", .timeLimit(.minutes(10)))
struct CeremonyTests {
    private func rejection(_ body: () async throws -> Void) async -> ResponseRejection.Cause? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ResponseRejection)?.cause
        }
    }

    @Test("A registered passkey signs in, with and without an allow list")
    func roundTrip() async throws {
        let website = try Website()
        let registered = try await website.register()
        #expect(registered.record.id == website.phone.passkeys.first?.id)
        #expect(registered.record.isBackupEligible && registered.record.isUserVerificationInitialized)
        #expect(registered.attestation == .none && registered.origin == "https://example.com")
        #expect(registered.isDiscoverable == true && registered.aaguid == Authenticator.aaguid)
        #expect(registered.record.transports == ["hybrid", "internal"])
        let user = try Website.account().id
        for (account, allowed) in [(nil, []), (user, [registered.record]), (user, [])] {
            let pending = website.party.beginAuthentication(of: account, allowed: allowed)
            let response = try AuthenticationResponse(json: try await website.answer(pending.optionsJSON))
            let signIn = try website.party.verify(response, for: pending, stored: registered.record)
            #expect(signIn.record.userHandle == user && signIn.isUserVerified)
        }
    }

    @Test("Options have the members that were requested")
    func options() async throws {
        var website = try Website(attestation: AttestationPolicy(conveyance: .direct))
        website.party.userVerification = .preferred
        website.party.algorithms = [.es256, COSEAlgorithm(rawValue: -9999), .rs256]
        website.party.timeout = .milliseconds(90_500)
        let registered = try await website.register()
        #expect(registered.attestation == .selfAttestation)
        let account = try Website.account("\"é\n")
        let pending = website.party.beginRegistration(of: account, registered: [registered.record])
        let wrapped = Array(#"{"publicKey":"#.utf8) + pending.optionsJSON + Array("}".utf8)
        guard case .creation(let options) = try PublicKeyOptions(json: wrapped) else {
            Issue.record("other options")
            return
        }
        #expect(options.challenge == pending.challenge.bytes && options.challenge.count == Challenge.length)
        #expect(options.relyingPartyID == "example.com" && options.user == account)
        #expect(options.algorithms == [.es256, .rs256] && options.timeoutMilliseconds == 90_500)
        #expect(options.excludeCredentials == [registered.record.descriptor])
        #expect(options.residentKey == .required && options.userVerification == .preferred)
        #expect(options.attestation == .direct)
        let other = website.party.beginRegistration(of: try Website.account())
        #expect(other.challenge != pending.challenge, "challenges are random")
    }

    @Test("A registered credential, another challenge and another ceremony's allow list are rejected")
    func state() async throws {
        let website = try Website()
        let party = website.party
        let pending = party.beginRegistration(of: try Website.account())
        let response = try RegistrationResponse(json: try await website.answer(pending.optionsJSON))
        let record = try await party.verify(response, for: pending, isRegistered: false).record
        #expect(
            await rejection { _ = try await party.verify(response, for: pending, isRegistered: true) }
                == .alreadyRegistered
        )
        let other = party.beginRegistration(of: try Website.account())
        #expect(
            await rejection { _ = try await party.verify(response, for: other, isRegistered: false) } == .otherChallenge
        )
        let second = try await website.register("eve").record
        let allowing = party.beginAuthentication(of: second.userHandle, allowed: [second])
        let signedIn = try AuthenticationResponse(json: try await website.answer(allowing.optionsJSON))
        _ = try party.verify(signedIn, for: allowing, stored: second)
        let restricted = party.beginAuthentication(allowed: [record])
        #expect(
            await rejection { _ = try party.verify(signedIn, for: restricted, stored: second) } == .credentialNotAllowed
        )
        #expect(
            await rejection { _ = try party.verify(signedIn, for: allowing, stored: record) } == .unknownCredential
        )
        #expect(await rejection { _ = try party.verify(signedIn, for: allowing, stored: nil) } == .unknownCredential)
        let foreign = party.beginAuthentication(of: record.userHandle)
        #expect(await rejection { _ = try party.verify(signedIn, for: foreign, stored: second) } == .otherAccount)
    }

    @Test("An automatic upgrade needs neither presence nor verification")
    func conditional() async throws {
        let website = try Website()
        let pending = website.party.beginRegistration(of: try Website.account(), isConditional: true)
        #expect(pending.userVerification == .preferred)
        let genuine = try RegistrationResponse(json: try await website.answer(pending.optionsJSON))
        var parts = RegistrationParts(
            clientData: ClientDataText(type: "webauthn.create", challenge: pending.challenge),
            id: genuine.credentialID.bytes,
            data: genuine.attestationObject.authenticatorData.encoded,
            key: try #require(website.phone.passkeys.last).privateKey
        )
        parts.data[32] &= ~0x05
        let response = try RegistrationResponse(json: Array(try parts.json().utf8))
        let record = try await website.party.verify(response, for: pending, isRegistered: false).record
        #expect(!record.isUserVerificationInitialized)
    }

    @Test("Frames of accepted sites and related origins are accepted")
    func origins() async throws {
        var website = try Website()
        let frame = try Origin("https://shop.test")
        let related = try Origin("https://example.net")
        let id = try #require(RelyingPartyID("example.com"))
        let own = try Origin("https://login.example.com:8443")
        website.party = try RelyingParty(id: id, name: "E", origins: [own], relatedOrigins: [related])
        website.party.topOrigins = [frame]
        #expect(
            String(decoding: website.party.relatedOriginsJSON, as: UTF8.self) == #"{"origins":["https://example.net"]}"#
        )
        let pending = website.party.beginAuthentication()
        let cases: [(String, String?, ResponseRejection.Cause?)] = [
            (related.text, nil, nil), (own.text, nil, nil), (related.text, frame.text, nil),
            (related.text, "https://other.test", .otherTopOrigin), (frame.text, nil, .otherOrigin),
            ("https://example.com", nil, .otherOrigin),
        ]
        let key = P256.Signing.PrivateKey()
        let record = try record(COSEKey(key.publicKey))
        for (origin, top, cause) in cases {
            var parts = try parts(pending, key)
            parts.clientData["origin"] = "\"\(origin)\""
            if let top {
                parts.clientData["crossOrigin"] = "true"
                parts.clientData["topOrigin"] = "\"\(top)\""
            }
            let response = try AuthenticationResponse(json: Array(try parts.json().utf8))
            let party = website.party
            #expect(await rejection { _ = try party.verify(response, for: pending, stored: record) } == cause)
        }
        #expect(throws: RelyingPartyIDError.self) { try RelyingParty(id: id, name: "E", origins: [related]) }
    }

    @Test("Signatures of each supported algorithm are verified")
    func algorithms() throws {
        let website = try Website()
        let pending = website.party.beginAuthentication()
        let p384 = P384.Signing.PrivateKey()
        let p521 = P521.Signing.PrivateKey()
        let ed25519 = Curve25519.Signing.PrivateKey()
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let primitives = try rsa.publicKey.getKeyPrimitives()
        func ec2(_ algorithm: Int, _ curve: CBORValue, _ point: [UInt8]) -> CBORMap {
            let half = point.count / 2
            return [
                1: 2, 3: .integer(algorithm), -1: curve, -2: .bytes(Array(point[..<half])),
                -3: .bytes(Array(point[half...])),
            ]
        }
        let keys: [(CBORMap, ([UInt8]) throws -> [UInt8])] = [
            (
                ec2(-35, 2, Array(p384.publicKey.rawRepresentation)),
                { Array(try p384.signature(for: $0).derRepresentation) }
            ),
            (
                ec2(-36, 3, Array(p521.publicKey.rawRepresentation)),
                { Array(try p521.signature(for: $0).derRepresentation) }
            ),
            (
                [1: 1, 3: -8, -1: 6, -2: .bytes(Array(ed25519.publicKey.rawRepresentation))],
                { Array(try ed25519.signature(for: $0)) }
            ),
            (
                [
                    1: 3, 3: -257, -1: .bytes(Array(primitives.modulus)),
                    -2: .bytes(Array(primitives.publicExponent)),
                ],
                { Array(try rsa.signature(for: SHA256.hash(data: $0), padding: .insecurePKCS1v1_5).rawRepresentation) }
            ),
        ]
        for (map, sign) in keys {
            let record = try record(try COSEKey(parsing: CBOREncoder.encode(.map(map))))
            let parts = try parts(pending, P256.Signing.PrivateKey())
            let signed = parts.data + Array(SHA256.hash(data: parts.clientData.bytes))
            let right = try sign(signed)
            let wrong = try sign(signed + [0])
            for (signature, isRight) in [(right, true), (wrong, false), (Array(right.dropLast()), false)] {
                var parts = parts
                parts.changeSignature = { $0 = signature }
                let response = try AuthenticationResponse(json: Array(try parts.json().utf8))
                let result = Result { () throws(ResponseRejection) in
                    try website.party.verify(response, for: pending, stored: record)
                }
                switch result {
                case .success: #expect(isRight, "\(map)")
                case .failure(let error): #expect(!isRight && error.cause == .wrongSignature, "\(map): \(error)")
                }
            }
        }
    }

    @Test("A sign-in updates counter, backup state and verification of the record")
    func update() throws {
        var website = try Website()
        website.party.userVerification = .preferred
        let pending = website.party.beginAuthentication()
        let key = P256.Signing.PrivateKey()
        var parts = try parts(pending, key)
        parts.data.replaceSubrange(32..<37, with: [0x1D, 0, 0, 1, 2])
        let record = try record(COSEKey(key.publicKey))
        let response = try AuthenticationResponse(json: Array(try parts.json().utf8))
        let updated = try website.party.verify(response, for: pending, stored: record).record
        #expect(updated.signatureCount == 258 && updated.isBackedUp && updated.isUserVerificationInitialized)
    }

    @Test("Each truncated or changed response is rejected or changes nothing")
    func damage() async throws {
        let website = try Website()
        let record = try await website.register().record
        let pending = website.party.beginAuthentication()
        let json = try await website.answer(pending.optionsJSON)
        for length in 0..<json.count {
            #expect(throws: ResponseRejection.self) { try AuthenticationResponse(json: Array(json[..<length])) }
        }
        let genuine = try AuthenticationResponse(json: json)
        for index in json.indices {
            var changed = json
            changed[index] ^= 1
            guard let response = try? AuthenticationResponse(json: changed),
                (try? website.party.verify(response, for: pending, stored: record)) != nil
            else { continue }
            #expect(response == genuine, "only members without meaning can change: \(index)")
        }
    }

    private func record(_ key: COSEKey) throws -> CredentialRecord {
        CredentialRecord(
            id: try #require(CredentialID(bytes: [1, 2, 3])),
            userHandle: try Website.account().id,
            publicKey: key,
            signatureCount: 0,
            isUserVerificationInitialized: false,
            transports: [],
            isBackupEligible: true,
            isBackedUp: false
        )
    }

    private func parts(_ pending: PendingAuthentication, _ key: P256.Signing.PrivateKey) throws -> AuthenticationParts {
        AuthenticationParts(
            clientData: ClientDataText(type: "webauthn.get", challenge: pending.challenge),
            id: [1, 2, 3],
            data: digest("example.com") + [0x0D, 0, 0, 0, 0],
            userHandle: try Website.account().id.bytes,
            key: key
        )
    }
}
