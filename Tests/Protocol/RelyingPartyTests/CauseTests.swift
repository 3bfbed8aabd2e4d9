// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridRelyingParty
import HybridWebAuthn
import TestSupport
import Testing

/// The cause of each rejection, with the mutations of ``VerdictTests``.
@Suite("Causes of rejections", .timeLimit(.minutes(10)))
struct CauseTests {
    private static let registrations: [(String, ResponseRejection.Cause)] = [
        ("response missing", .malformedResponse), ("clientDataJSON missing", .malformedResponse),
        ("clientDataJSON not base64url", .malformedResponse), ("id other", .malformedCredentialID),
        ("id and rawId empty", .malformedCredentialID), ("credential type other", .otherCredentialType),
        ("type missing", .malformedClientData), ("repeated type, the wrong one last", .malformedClientData),
        ("comma before the end", .malformedClientData), ("UTF-16", .malformedClientData),
        ("type of the other ceremony", .otherType), ("challenge other", .otherChallenge),
        ("challenge padded", .otherChallenge), ("origin \"https://example.org\"", .otherOrigin),
        ("crossOrigin true", .crossOrigin), ("topOrigin without crossOrigin", .otherTopOrigin),
        ("object truncated", .malformedAttestationObject), ("byte after the data", .malformedAttestationObject),
        ("RP ID hash other", .otherRelyingParty), ("flag UP off", .userNotPresent), ("flag UV off", .userNotVerified),
        ("flag BS on, BE off", .contradictoryBackupFlags), ("flag AT off, no credential", .noCredential),
        ("credential ID other than the client's", .otherCredential),
        ("key for ES384, without attestation", .algorithmNotRequested),
        ("key of two bytes for RS256, without attestation", .malformedKey),
        ("key for EdDSA of 31 bytes, without attestation", .malformedKey), ("format unknown", .unsupportedFormat),
        ("no attestation, but a statement", .malformedStatement), ("statement without sig", .malformedStatement),
        ("statement with an unknown member", .malformedStatement),
        ("statement with an empty x5c", .malformedStatement),
        ("statement with alg RS256", .otherAttestationAlgorithm),
        ("statement signed by another key", .wrongAttestationSignature),
        ("certificate, signed by the credential", .wrongAttestationSignature),
        ("certificate, alg of another key type", .wrongAttestationSignature),
        ("certificate truncated", .unsuitableCertificate), ("certificate with another unit", .unsuitableCertificate),
        ("certificate without country", .unsuitableCertificate), ("certificate of version 1", .unsuitableCertificate),
        ("certificate of an authority", .unsuitableCertificate),
        ("certificate without basic constraints", .unsuitableCertificate),
        ("certificate for another model", .otherModel),
        ("certificate with a critical model extension", .otherModel),
        ("certificate of another root", .untrustedAttestation),
        ("certificate that has expired", .untrustedAttestation),
        ("certificate without its intermediate certificate", .untrustedAttestation),
    ]

    private static let authentications: [(String, ResponseRejection.Cause)] = [
        ("signature missing", .malformedResponse), ("userHandle of 65 bytes", .malformedResponse),
        ("id and rawId other", .unknownCredential), ("userHandle missing", .noUserHandle),
        ("userHandle of another account", .otherAccount), ("type of the other ceremony", .otherType),
        ("challenge other", .otherChallenge), ("origin \"http://example.com\"", .otherOrigin),
        ("crossOrigin true", .crossOrigin), ("topOrigin of the website itself", .otherTopOrigin),
        ("byte after the data", .malformedAuthenticatorData), ("RP ID hash other", .otherRelyingParty),
        ("flag UP off", .userNotPresent), ("flag UV off", .userNotVerified),
        ("flag BS on, BE off as at registration", .contradictoryBackupFlags),
        ("flag BE off", .changedBackupEligibility),
        ("flag BE on, off at registration", .changedBackupEligibility),
        ("signature by another key", .wrongSignature), ("signature over other client data", .wrongSignature),
        ("signature not in DER", .wrongSignature), ("signature of zeros", .wrongSignature),
        ("counter 5 after 5", .counterNotIncreased), ("counter 0 after 5", .counterNotIncreased),
    ]

    @Test("Each mutation of a registration is rejected for its cause")
    func registration() async throws {
        let cases = try await VerdictCases.registrations()
        for (name, cause) in Self.registrations {
            let found = try #require(cases.first { $0.name == "registration: \(name)" }, "\(name)")
            #expect(found.ours?.cause == cause, "\(name): \(found.ours?.description ?? "accepted")")
            #expect(found.ours?.procedure == .registration)
        }
    }

    @Test("Each mutation of a sign-in is rejected for its cause")
    func authentication() async throws {
        let cases = try await VerdictCases.authentications()
        for (name, cause) in Self.authentications {
            let found = try #require(cases.first { $0.name == "sign-in: \(name)" }, "\(name)")
            #expect(found.ours?.cause == cause, "\(name): \(found.ours?.description ?? "accepted")")
            #expect(found.ours?.paragraph.contains("§") == true)
        }
    }
}
