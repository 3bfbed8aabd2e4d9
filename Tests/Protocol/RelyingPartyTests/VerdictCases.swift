// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridRelyingParty
import HybridWebAuthn
import Testing

/// A genuine or mutated response, with our verdict.
struct VerdictCase: Encodable {
    let name: String
    let kind: String
    let response: String
    let challenge: String
    let root: String
    var id: String?
    var key: String?
    var data: String?
    var count: UInt32?
    /// Our rejection; `nil` if we accept the response.
    let ours: ResponseRejection?

    enum CodingKeys: String, CodingKey {
        case kind, response, challenge, root, id, key, data, count
    }
}

/// Genuine responses of the project's authenticator, and their mutations.
enum VerdictCases {
    static func registrations() async throws -> [VerdictCase] {
        let authority = try TestAuthority()
        var website = try Website(attestation: AttestationPolicy(conveyance: .direct))
        website.party.attestation.roots = [authority.rootCertificate]
        let pending = website.party.beginRegistration(of: try Website.account())
        let genuine = try RegistrationResponse(json: try await website.answer(pending.optionsJSON))
        let base = RegistrationParts(
            clientData: ClientDataText(type: "webauthn.create", challenge: pending.challenge),
            id: genuine.credentialID.bytes,
            data: genuine.attestationObject.authenticatorData.encoded,
            key: try #require(website.phone.passkeys.last).privateKey
        )
        #expect(base.clientData.bytes == genuine.clientData.json)
        var mutations: [RegistrationMutations.Mutation] = [("genuine", { _ in })]
        mutations += ClientDataMutations.all(other: "webauthn.get").map { mutation in
            (mutation.name, { mutation.change(&$0.clientData) })
        }
        mutations += TextMutations.all.map { mutation in (mutation.name, { $0.changeText = mutation.change }) }
        mutations += RegistrationMutations.all(authority)
        var cases: [VerdictCase] = []
        for (name, change) in mutations {
            var parts = base
            try change(&parts)
            let json = try parts.json()
            cases.append(
                VerdictCase(
                    name: "registration: \(name)",
                    kind: "registration",
                    response: json,
                    challenge: Base64URL.encode(pending.challenge.bytes),
                    root: Base64URL.encode(authority.rootCertificate),
                    ours: await rejection(json, pending, website.party)
                )
            )
        }
        return cases
    }

    private static func rejection(
        _ json: String,
        _ pending: PendingRegistration,
        _ party: RelyingParty
    ) async -> ResponseRejection? {
        do throws(ResponseRejection) {
            let response = try RegistrationResponse(json: Array(json.utf8))
            var party = party
            // Other formats than packed have no certificates, and need no trust.
            let packed = response.attestationObject.statement["x5c"] != nil
            party.attestation.requiresTrust = packed
            _ = try await party.verify(response, for: pending, isRegistered: false)
            return nil
        } catch {
            return error
        }
    }

    static func authentications() async throws -> [VerdictCase] {
        let website = try Website()
        let registered = try await website.register()
        let pending = website.party.beginAuthentication()
        let genuine = try AuthenticationResponse(json: try await website.answer(pending.optionsJSON))
        let base = AuthenticationParts(
            clientData: ClientDataText(type: "webauthn.get", challenge: pending.challenge),
            id: genuine.credentialID.bytes,
            data: genuine.authenticatorData.encoded,
            userHandle: genuine.userHandle?.bytes,
            key: try #require(website.phone.passkeys.first { $0.id == genuine.credentialID }).privateKey
        )
        #expect(base.clientData.bytes == genuine.clientData.json)
        let stored = registered.record
        var mutations: [AuthenticationMutations.Mutation] = [("genuine", { _ in })]
        mutations += ClientDataMutations.all(other: "webauthn.create").map { mutation in
            (mutation.name, { mutation.change(&$0.clientData) })
        }
        mutations += TextMutations.all.map { mutation in (mutation.name, { $0.changeText = mutation.change }) }
        mutations += AuthenticationMutations.all
        let attested = AttestedCredential(aaguid: .zero, id: stored.id, publicKey: stored.publicKey)
        return try mutations.map { name, change in
            var parts = base
            try change(&parts)
            let json = try parts.json()
            let record = CredentialRecord(
                id: stored.id,
                userHandle: stored.userHandle,
                publicKey: stored.publicKey,
                signatureCount: parts.storedCount,
                isUserVerificationInitialized: true,
                transports: [],
                isBackupEligible: parts.storedEligibility,
                isBackedUp: false
            )
            return VerdictCase(
                name: "sign-in: \(name)",
                kind: "authentication",
                response: json,
                challenge: Base64URL.encode(pending.challenge.bytes),
                root: "",
                id: Base64URL.encode(stored.id.bytes),
                key: Base64URL.encode(stored.publicKey.encoded),
                data: Base64URL.encode(attested.encoded),
                count: parts.storedCount,
                ours: rejection(json, pending, website.party, record)
            )
        }
    }

    private static func rejection(
        _ json: String,
        _ pending: PendingAuthentication,
        _ party: RelyingParty,
        _ record: CredentialRecord
    ) -> ResponseRejection? {
        do throws(ResponseRejection) {
            let response = try AuthenticationResponse(json: Array(json.utf8))
            _ = try party.verify(
                response,
                for: pending,
                stored: response.credentialID == record.id ? record : nil
            )
            return nil
        } catch {
            return error
        }
    }
}
