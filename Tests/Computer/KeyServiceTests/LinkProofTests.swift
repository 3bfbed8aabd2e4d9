// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridSSHAgent
import SSHTestSupport
import Testing

@testable import HybridKeyService

@Suite("The signature that links a phone")
struct LinkProofTests {
    private func proof(_ key: StoredSSHKey) throws -> LinkProof {
        var generator = SystemRandomNumberGenerator()
        return try #require(LinkProof(key, seconds: 60, using: &generator))
    }

    /// Returns the data that a proof states to the phone.
    private func data(_ proof: LinkProof) throws -> [UInt8] {
        guard case .sign(let request) = proof.request.command else { return [] }
        let stated = try #require(request.signedData)
        #expect(stated.matches(request.clientDataHash) && request.userVerification)
        return stated.bytes
    }

    @Test("The data is a message with a namespace of its own and new content each time")
    func message() throws {
        let passkey = try TestPasskey()
        let key = try storedKey(passkey, named: "work")
        let (one, other) = (try proof(key), try proof(key))
        let bytes = try data(one)
        guard case .message(let message) = try SignedData(parsing: bytes, for: passkey.publicKey).content else {
            Issue.record("not a message: \(bytes)")
            return
        }
        #expect(message.namespace.description == "link@hybrid")
        #expect(try data(other) != bytes)
        #expect(one.request.purpose == #"link the phone with the ssh key "work""# && one.request.phone == nil)
        #expect(
            one.publicKey(key.credentialID, of: key.relyingPartyID)?.x963Representation
                == key.publicKey.x963Representation
        )
        let site = try #require(RelyingPartyID("example.com"))
        #expect(one.publicKey(key.credentialID, of: site) == nil)
    }

    @Test("Only a signature of this data by this key, with user verification, is a proof")
    func signatures() throws {
        let passkey = try TestPasskey()
        let key = try storedKey(passkey)
        let proof = try proof(key)
        func answer(_ signer: TestPasskey, _ data: [UInt8], flags: UInt8 = 0x05) throws -> [UInt8] {
            let assertion = try signer.assertion(data, flags: flags)
            let response = GetAssertionResponse(
                credential: CredentialDescriptor(id: key.credentialID),
                authenticatorData: try AuthenticatorData(parsing: assertion.authenticatorData),
                signature: assertion.der
            )
            return CTAPResponse(status: .success, body: response.encoded).encoded
        }
        let data = try data(proof)
        #expect(proof.isVerified(by: try answer(passkey, data)))
        #expect(!proof.isVerified(by: try answer(TestPasskey(), data)), "an invented signature")
        #expect(!proof.isVerified(by: try answer(passkey, data, flags: 0x01)), "without user verification")
        let earlier = try self.data(try self.proof(key))
        #expect(!proof.isVerified(by: try answer(passkey, earlier)), "a signature for an earlier request")
        #expect(!proof.isVerified(by: []))
    }
}
