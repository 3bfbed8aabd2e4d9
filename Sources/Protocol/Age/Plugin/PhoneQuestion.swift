// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
internal import HybridPrimitives

/// A question to a phone: the results of a passkey for a nonce.
package struct PhoneQuestion: Hashable, Sendable {
    /// The purpose, for the user.
    package enum Purpose: Hashable, Sendable {
        /// Opens a key.
        case open(SecretName)
        /// Encrypts a file with the passkey itself.
        case encrypt
        /// Decrypts a file with the passkey itself. A file does not say which passkey opens it, so several attempts may
        /// be necessary.
        case decrypt(attempt: Int, of: Int)
    }

    /// The purpose.
    package let purpose: Purpose
    /// The relying party of the passkeys.
    package let relyingPartyID: RelyingPartyID
    /// The passkeys, each of which can answer.
    package let passkeys: [CredentialDescriptor]
    /// The nonce.
    package let nonce: PRFNonce

    /// Creates the question that opens a key.
    package init(opening key: SealedKey) {
        self.init(.open(key.name), key.relyingPartyID, key.phones, key.nonce)
    }

    /// Creates the question that tries a new passkey.
    package init(
        trying passkey: CredentialDescriptor,
        of relyingPartyID: RelyingPartyID,
        _ name: SecretName,
        _ nonce: PRFNonce
    ) {
        self.init(.open(name), relyingPartyID, [passkey], nonce)
    }

    init(_ purpose: Purpose, _ identity: PasskeyIdentity, _ nonce: PRFNonce) {
        self.init(purpose, identity.relyingPartyID, [identity.credential], nonce)
    }

    private init(
        _ purpose: Purpose,
        _ relyingPartyID: RelyingPartyID,
        _ passkeys: [CredentialDescriptor],
        _ nonce: PRFNonce
    ) {
        (self.purpose, self.relyingPartyID) = (purpose, relyingPartyID)
        (self.passkeys, self.nonce) = (passkeys, nonce)
    }

    /// The request to a phone.
    ///
    /// No message has the client data hash of zeros, so the signature signs in nowhere. The user must be verified, because
    /// results differ without that.
    package var request: GetAssertionRequest {
        GetAssertionRequest(
            relyingPartyID: relyingPartyID,
            clientDataHash: .ofSecrets,
            allowList: passkeys,
            extensions: PRFInput(salts: nonce.salts).extensionInput,
            userVerification: true
        )
    }
}

extension ClientDataHash {
    /// The hash in requests for secrets: 32 zero bytes.
    package static let ofSecrets = ClientDataHash(checked: repeatElement(0, count: length))
}

/// The answer of a phone to a question.
package enum PhoneAnswer: Sendable {
    /// The key from the results, and the passkey if the phone names it.
    case results(PRFKey, of: CredentialID?)
    /// The phone has none of the passkeys; the text says so to the user.
    case noPasskey(String)
    /// There are no results, for example because the user declined; the text says why.
    case failed(String)

    /// Creates an answer from the response of a phone.
    ///
    /// - Parameters:
    ///   - response: The CTAP response with its status byte.
    ///   - question: The question.
    package init(_ response: [UInt8], to question: PhoneQuestion) {
        guard let response = try? CTAPResponse(parsing: response), response.status == .success,
            let assertion = try? GetAssertionResponse(parsing: response.body),
            assertion.authenticatorData.relyingPartyIDHash == question.relyingPartyID.hash
        else {
            self = .failed("the phone's response is not one for this request")
            return
        }
        let passkey = assertion.credential?.id ?? (question.passkeys.count == 1 ? question.passkeys[0].id : nil)
        guard assertion.authenticatorData.flags.contains(.userVerified) else {
            self = .failed("the phone did not verify its user; set a screen lock on the phone, and try again")
            return
        }
        guard let key = PRFKey(assertion.prf) else {
            self = .failed("the phone's password app gives no secrets of passkeys (PRF); choose another app or phone")
            return
        }
        self = .results(key, of: passkey)
    }
}

extension GetAssertionResponse {
    /// The output of `prf`; `nil` if there is none, or it is malformed.
    package var prf: PRFOutput? {
        (try? PRFOutput(unsignedOutputs: unsignedExtensionOutputs)) ?? nil
    }
}
