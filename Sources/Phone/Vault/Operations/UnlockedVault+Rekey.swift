// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator

extension UnlockedVault {
    /// Replaces the vault key and seals all content again under the new one; this may take a while.
    ///
    /// All slots are replaced by slots for the secrets given here. Other devices then need one of these secrets to open
    /// the vault. Older copies of the vault still open with the old secrets.
    ///
    /// - Parameters:
    ///   - pin: The PIN of this device, which stays the same.
    ///   - passphrase: The new passphrase, or `nil` for none.
    ///   - recoveryCode: The new recovery code, or `nil` for none.
    /// - Returns: The fingerprint of the new key, which the user compares on the other devices.
    /// - Throws: ``VaultError``; the next unlocking finishes or undoes an interrupted rekey.
    @discardableResult
    package func rekey(
        pin: PIN,
        passphrase: Passphrase?,
        recoveryCode: RecoveryCode?
    ) async throws(VaultError) -> VaultKeyFingerprint {
        if let passphrase, !passphrase.isStrongEnough { throw .passphraseTooWeak(bits: passphrase.strength) }
        let secrets = [passphrase.map(PortableSecret.passphrase), recoveryCode.map(PortableSecret.recoveryCode)]
        let new = try await perform { key, files throws(VaultError) in
            try files.rekey(key: key, pin: pin, secrets: secrets.compactMap(\.self))
        }
        replaceKey(new)
        return VaultKeyFingerprint(of: VaultKeyID(of: new, identity: files.identity), identity: files.identity)
    }
}

/// Replacement of the vault key, so that an attacker who has the old key cannot read new content.
///
/// 1. The new key is stored in the local state, sealed under the old one. This pending key marks a rekey in progress.
/// 2. Slots for the new key are written; they are not used yet.
/// 3. The pending key is written again as committed. From then on, the new key is current. A link from the new key to
///    the old one is written, so that other devices learn of the rekey.
/// 4. The PIN slot, the seen revisions, every record and every usage history are sealed again. Then the records and
///    slots under the old key are removed.
/// 5. The pending key is removed.
///
/// If the rekey is interrupted before step 3, the next unlocking undoes steps 1 and 2. If it is interrupted later, the
/// next unlocking writes a missing link and completes the remaining steps. Every step can be repeated.
extension VaultFiles {
    /// Executes steps 1 to 5 and returns the new key.
    func rekey(key old: SymmetricKey, pin: PIN, secrets: [PortableSecret]) throws(VaultError) -> SymmetricKey {
        // The pending key of an interrupted rekey must not be overwritten: it may be the only copy of the current key.
        let ring = try checkKeyIsCurrent(old)
        // A rolled-back or damaged vault is rejected before anything is changed.
        let records = try records(key: old)
        let device = try state.device()
        // Checked before the rekey begins, so that afterwards only a failing write can stop it.
        for (id, record) in records.all { _ = try revision(of: id, after: record.newest, device: device.id) }
        guard try state.slot().unwrapKey(pin: pin, device: device, tpm: location.tpm) == old else { throw .wrongSecret }
        guard state.protection != .tpm || !secrets.isEmpty else { throw .tpmWouldBeOnlySlot }
        let slots = try PortableSlots(in: directory, identity: identity).all
        try state.remember(ring, slots: slots)
        for secret in secrets { try state.checkIsNew(secret) }
        let new = SymmetricKey(size: .bits256)
        var made: [PortableSlot] = []
        try state.write(next: new, under: old, isCommitted: false)
        do throws(VaultError) {
            for secret in secrets {
                let scrypt = location.scrypt(of: identity)
                let slot = try PortableSlot(wrapping: new, secret: secret, identity: identity, scrypt: scrypt)
                try PortableSlots.write(slot, in: directory)
                made.append(slot)
            }
        } catch {
            // If this fails, the next unlocking tries again.
            try? undoUncommittedRekey(new)
            throw error
        }
        try state.write(next: new, under: old, isCommitted: true)
        try writeLink(from: old, to: new)
        let newest = try finishRekeying(old, pin: pin, scrypt: location.scrypt(of: identity))
        if let ring = try? self.ring(newest) { rememberSlots(of: ring, own: made) }
        return newest
    }

    /// Finishes or undoes an interrupted rekey, if there is one.
    ///
    /// - Returns: The current key.
    func finishRekeying(_ key: SymmetricKey, pin: PIN, scrypt: Scrypt) throws(VaultError) -> SymmetricKey {
        guard state.isRekeying else { return key }
        let newest = try currentKey(key, pin: pin, scrypt: scrypt)
        guard state.isRekeying else { return newest }
        try resealEverything(try ring(newest))
        try state.forgetPendingKey()
        return newest
    }

    /// Returns the current key, even if a rekey was interrupted.
    ///
    /// An interrupted rekey is undone if it was not committed; otherwise the PIN slot is updated to the new key.
    func currentKey(_ key: SymmetricKey, pin: PIN, scrypt: Scrypt) throws(VaultError) -> SymmetricKey {
        // A ring that follows the links cannot be created from the old key: the link declares that key replaced.
        guard state.isRekeying, let pending = try? state.pendingKey(VaultKeyRing(key)) else { return key }
        if try !ring(pending.new).keys.contains(key) {
            guard pending.isCommitted else {
                try undoUncommittedRekey(pending.new)
                return key
            }
            try writeLink(from: key, to: pending.new)
        }
        try replaceSlot(wrapping: pending.new, pin: pin, scrypt: scrypt)
        return pending.new
    }

    /// Writes the link that informs all devices that one key was replaced by another.
    private func writeLink(from old: SymmetricKey, to new: SymmetricKey) throws(VaultError) {
        guard let link = try? KeyLink(from: old, to: new, identity: identity) else {
            throw .cannotWrite("the link between the keys could not be sealed")
        }
        try accessing(directory.path) { () throws(FileError) in
            let keys = try directory.makeSubdirectory(VaultDirectory.keysName)
            // An existing file of this name is not authentic.
            try keys.write(link.fileName, link.bytes, replacing: true)
        }
    }

    /// Undoes steps 1 and 2.
    private func undoUncommittedRekey(_ new: SymmetricKey) throws(VaultError) {
        let slots = try PortableSlots(in: directory, identity: identity)
        let name = VaultKeyID(of: new, identity: identity)
        try slots.delete(slots.all.filter { $0.keyID == name }, in: directory)
        try state.forgetPendingKey()
    }

    /// Executes step 4 except for the PIN slot.
    private func resealEverything(_ ring: VaultKeyRing) throws(VaultError) {
        var seen = try state.seen(ring)
        let records = try VaultRecords(in: directory, ring: ring, identity: identity, seen: seen, policy: .rekeying)
        try records.check(against: &seen)
        try reseal(records, ring, &seen)
        try state.write(seen, key: ring.newest)
        try resealUsageHistory(ring)
        // Files that are not trusted are kept, so that the user can accept them.
        try remove(records.files.filter { $0.isOutdated && $0.isTrusted })
        let slots = try PortableSlots(in: directory, identity: identity)
        // Those of a device that rekeyed at the same time may be the only way to its passkeys.
        let kept = ring.successors.union([VaultKeyID(of: ring.newest, identity: identity)])
        try slots.delete(slots.all.filter { !kept.contains($0.keyID) }, in: directory)
    }

    /// Writes a new revision of every record whose current revision is under a replaced key.
    func reseal(
        _ records: VaultRecords,
        _ ring: VaultKeyRing,
        _ seen: inout SeenRevisions,
        except deleted: Set<RecordID> = []
    ) throws(VaultError) {
        let device = try state.device().id
        let outdated = records.all.filter { $0.value.key != ring.newest && !deleted.contains($0.key) }
        for (id, record) in outdated.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
            let revision = try revision(of: id, after: record.newest, device: device)
            let file = record.current.resealed(as: revision, under: ring.newest, from: record.key, identity: identity)
            guard let file else { throw .damaged("a record could not be sealed again") }
            try write(file)
            seen.insert(id, newest: revision, isDeleted: record.isDeleted)
        }
    }
}
