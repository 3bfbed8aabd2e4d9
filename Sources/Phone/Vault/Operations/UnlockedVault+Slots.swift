// SPDX-License-Identifier: Apache-2.0

internal import Crypto

extension UnlockedVault {
    /// Adds a passphrase that opens every copy of the vault directory.
    ///
    /// - Parameters:
    ///   - passphrase: The new passphrase.
    ///   - replacing: True to delete the existing passphrases. They still open old copies of the directory; only
    ///     ``rekey(pin:passphrase:recoveryCode:)`` protects new content from anyone who knows them.
    /// - Throws: ``VaultError``; ``VaultError/passphraseTooWeak(bits:)``.
    package func addPassphrase(_ passphrase: Passphrase, replacing: Bool) async throws(VaultError) {
        guard passphrase.isStrongEnough else { throw .passphraseTooWeak(bits: passphrase.strength) }
        try await addSlot(.passphrase(passphrase), replacing: replacing)
    }

    /// Adds a recovery code that opens every copy of the vault directory.
    ///
    /// - Parameters:
    ///   - code: The new recovery code.
    ///   - replacing: True to delete the existing recovery codes; see ``addPassphrase(_:replacing:)``.
    /// - Throws: ``VaultError``.
    package func addRecoveryCode(_ code: RecoveryCode, replacing: Bool) async throws(VaultError) {
        try await addSlot(.recoveryCode(code), replacing: replacing)
    }

    /// Adds a slot, then deletes the slots that it replaces.
    private func addSlot(_ secret: PortableSecret, replacing: Bool) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            let ring = try files.checkKeyIsCurrent(key)
            let (directory, identity) = (files.directory, files.identity)
            try files.state.checkIsNew(secret, allowing: VaultKeyID(of: key, identity: identity))
            let before = try PortableSlots(in: directory, identity: identity)
            // Slots of a device that rekeyed at the same time may be the only way to its passkeys.
            let own = before.all.filter { !ring.successors.contains($0.keyID) }
            let replaced = replacing ? own.filter { $0.kind == secret.kind } : []
            // Slots that a server added count for nothing.
            let kept = before.authentic(key).count { !replacing || $0.kind != secret.kind }
            guard kept < PortableSlots.maximumCount else {
                throw .tooLarge("it has \(PortableSlots.maximumCount) slots; replace some")
            }
            let scrypt = files.location.scrypt(of: identity)
            let slot = try PortableSlot(wrapping: key, secret: secret, identity: identity, scrypt: scrypt)
            try PortableSlots.write(slot, in: directory)
            // Best effort; the next unlocking tries again.
            try? files.state.remember(ring, own: [slot], slots: before.all)
            try before.delete(replaced, in: directory)
        }
    }

    /// Returns the numbers of authentic slots, which are those that open the vault.
    ///
    /// - Throws: ``VaultError``.
    package func portableSlots() async throws(VaultError) -> (passphrases: Int, recoveryCodes: Int) {
        try await perform { key, files throws(VaultError) in
            let slots = try PortableSlots(in: files.directory, identity: files.identity)
            return (slots.authentic(.passphrase, key).count, slots.authentic(.recoveryCode, key).count)
        }
    }
}
