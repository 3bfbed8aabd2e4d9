// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridCredentialExchange
internal import HybridPrimitives

/// The result of storing passkeys of another vault.
package struct ReceivedPasskeys: Equatable, Sendable {
    /// Passkeys that are in the vault now, each with the key that the other vault has for it.
    package let stored: Set<ExchangedPasskey.ID>
    /// Number of passkeys that were not in the vault before.
    package let added: Int
    /// Passkeys that were in the vault with the same key.
    package let present: [PasskeyLabel]
    /// Passkeys with the site and ID of an existing one but another key; the existing one is kept.
    package let different: [PasskeyLabel]
    /// The failure to write the usage history, which does not affect the passkeys.
    package let historyFailure: VaultError?
}

extension Vault {
    /// Checks that a vault can hold a passkey of another one and that this version can use it from there.
    package static func check(_ passkey: ExchangedPasskey) throws(SkippedCredential) { try PasskeyBody.check(passkey) }
}

extension UnlockedVault {
    /// Adds passkeys of another vault, as ``add(_:)`` adds those of a file.
    ///
    /// All of them are durable when this method returns. If one cannot be written, none is added.
    ///
    /// - Parameters:
    ///   - file: The passkeys, checked with ``Vault/check(_:)``.
    ///   - peer: The name of the other side, for the usage history.
    /// - Throws: ``VaultError``; after ``VaultError/changeNotRecorded(_:)`` all are durable.
    package func receive(_ file: ExchangeFile, from peer: String) async throws(VaultError) -> ReceivedPasskeys {
        do throws(VaultError) {
            let result = try await perform { key, files throws(VaultError) in
                try files.receive(file, from: peer, key: key)
            }
            if result.added > 0 { setBackedUp(false) }
            return result
        } catch {
            if case .changeNotRecorded = error { setBackedUp(false) }
            throw error
        }
    }
}

extension VaultFiles {
    /// Adds passkeys of another vault, and adds them to the usage history.
    func receive(_ file: ExchangeFile, from peer: String, key: SymmetricKey) throws(VaultError) -> ReceivedPasskeys {
        let addition = try add(file.passkeys, isWhole: true, key: key)
        let records = try records(key: key).byPasskey
        let different = Set(addition.different.map(\.id))
        // A passkey that came twice with different keys is confirmed for neither.
        let stored = (addition.added + addition.present).map(\.id).filter { !different.contains($0) }
        let uses = addition.added.map { passkey in
            PasskeyUse(
                time: location.clock.now(),
                relyingParty: passkey.id.relyingParty,
                operation: .receive,
                outcome: .done,
                record: records[passkey.id],
                peer: peer
            )
        }
        return ReceivedPasskeys(
            stored: Set(stored),
            added: addition.added.count,
            present: addition.present.map(\.label),
            different: addition.different.map(\.label),
            historyFailure: historyFailure(uses, key: key)
        )
    }
}
