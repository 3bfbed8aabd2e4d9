// SPDX-License-Identifier: Apache-2.0

package import HybridAge
package import HybridCTAP
internal import HybridPrimitives
internal import HybridProgram

/// The creation of a key that phones open, and of further phones for it.
///
/// A phone is always asked twice: it creates a passkey, and then signs in with it. The key counts as created only when the
/// results of the sign-in open it. So a phone whose results change, or a stranger who scanned the first code, is noticed.
package struct SealedKeyCreation: Sendable {
    private let phone: SecretPhone

    /// Creates a creation with a phone.
    package init(_ phone: SecretPhone) { self.phone = phone }

    /// Creates a passkey on a phone, and seals a key for it.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - name: The name.
    ///   - relyingPartyID: The relying party of the passkey.
    ///   - others: Recipients whose keys open the sealed key, too.
    /// - Throws: ``CommandFailure``.
    package func seal(
        _ key: AgeSecretKey,
        name: SecretName,
        relyingPartyID: RelyingPartyID,
        others: [AgeRecipient]
    ) async throws -> SealedKey {
        let nonce = PRFNonce.random()
        let creation = SecretPasskeyCreation(name, relyingPartyID, nonce: nonce, excluding: [])
        let passkey = try await phone.create(creation)
        let question = PhoneQuestion(trying: passkey.descriptor, of: relyingPartyID, name, nonce)
        let results = try await results(for: question, creation)
        let sealed = SealedKey(
            sealing: key,
            name: name,
            relyingPartyID: relyingPartyID,
            phone: passkey.descriptor,
            results: passkey.results ?? results.key,
            nonce: nonce,
            others: others
        )
        guard let sealed, sealed.open(with: results.key, of: results.passkey) != nil else {
            throw creation.useless(Self.otherResults, code: "other-results")
        }
        return sealed
    }

    /// Adds a phone to a key: opens the key, creates a passkey on the new phone, and signs in with it.
    ///
    /// - Throws: ``CommandFailure``.
    package func addPhone(to sealed: SealedKey) async throws -> SealedKey {
        guard sealed.phones.count < SealedKey.maximumPhones else {
            throw CommandFailure("a key has at most \(SealedKey.maximumPhones) phones", status: .usage)
        }
        let old = try await phone.results(for: PhoneQuestion(opening: sealed))
        let key = try SecretPhone.key(of: sealed, old)
        let creation = SecretPasskeyCreation(
            sealed.name,
            sealed.relyingPartyID,
            nonce: sealed.nonce,
            excluding: sealed.phones
        )
        let passkey = try await phone.create(creation)
        let question = PhoneQuestion(trying: passkey.descriptor, of: sealed.relyingPartyID, sealed.name, sealed.nonce)
        let new = try await results(for: question, creation)
        let added = sealed.adding(
            passkey.descriptor,
            passkey.results ?? new.key,
            openedWith: old.key,
            of: old.passkey
        )
        guard let added, added.open(with: new.key, of: passkey.descriptor.id)?.recipient == key.recipient else {
            throw creation.useless(Self.otherResults, code: "other-results")
        }
        return added
    }

    /// Asks a new passkey for its results; a failure names the passkey, which exists already.
    private func results(
        for question: PhoneQuestion,
        _ creation: SecretPasskeyCreation
    ) async throws -> SecretPhone.Results {
        do {
            return try await phone.results(for: question)
        } catch let failure as CommandFailure {
            throw creation.leftPasskey(failure)
        }
    }

    private static let otherResults =
        "the phone's secret at the sign-in differs from that at the creation, so the key would not open later"
}
