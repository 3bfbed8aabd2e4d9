// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridAuthenticator

/// Replaces the vault key, so that whoever got hold of the old one can read nothing that is written from now on.
///
/// 1. The new key is kept in the local state, sealed under the old one: the mark that a rekeying goes on.
/// 2. Slots for the new key are written; nobody uses them yet.
/// 3. The mark is written again as committed. From here on the new key counts. Then the link from the new key to the
///    old one is written, by which other devices learn of it.
/// 4. The PIN slot, what was seen, every record and every history are sealed anew; then the files and slots under
///    the old key are removed.
/// 5. The mark is removed.
///
/// Cut short before 3, the next unlocking takes back 1 and 2; after 3, it does the rest, and writes the link again
/// if that is missing. Each step can be done again.
extension VaultFiles {
    /// Steps 1 to 5; returns the new key.
    func rekey(
        key old: SymmetricKey,
        pin: PIN,
        secrets: [PortableSecret],
        scrypt: Scrypt
    ) throws(VaultError) -> SymmetricKey {
        try state.locked { () throws(VaultError) in
            // The mark of one that was cut short must not be overwritten: it may be the only copy of a key that counts.
            try checkCounts(old)
            // Refuses a rolled-back or damaged vault before anything is changed.
            let records = try records(key: old)
            let device = try state.device()
            // Once it has begun, nothing but a full disk may stop it.
            for (id, record) in records.all { _ = try revision(of: id, after: record.newest, device: device.id) }
            let slot = try state.pinSlot()
            guard (try? slot.open(pin: pin, device: device)) == old else { throw .wrongSecret }
            guard try Slots(in: directory, identity: identity).all.count + secrets.count <= Slots.maximumCount else {
                throw .tooLarge("it has no room for the new slots; delete files in slots/ that nobody needs")
            }
            let new = SymmetricKey(size: .bits256)
            try state.write(next: new, under: old, isCommitted: false)
            do throws(VaultError) {
                for secret in secrets {
                    let slot = try? PortableSlot(wrapping: new, secret: secret, identity: identity, scrypt: scrypt)
                    guard let slot else { throw .outOfMemory }
                    try Slots.write(slot, in: directory)
                }
            } catch {
                // What can't be taken back now is taken back at the next unlocking.
                try? takeBack(new)
                throw error
            }
            try state.write(next: new, under: old, isCommitted: true)
            try writeLink(from: old, to: new)
            return try finishRekeying(old, pin: pin, scrypt: scrypt)
        }
    }

    /// Finishes or takes back a rekeying that was cut short; the caller holds the lock.
    ///
    /// - Returns: The key that counts.
    func finishRekeying(_ key: SymmetricKey, pin: PIN, scrypt: Scrypt) throws(VaultError) -> SymmetricKey {
        guard state.isRekeying else { return key }
        let newest = try currentKey(key, pin: pin, scrypt: scrypt)
        guard state.isRekeying else { return newest }
        try sealEverything(try ring(newest))
        try state.forgetPendingKey()
        return newest
    }

    /// The key that counts while a rekeying goes on, with the PIN slot brought up to it; the caller holds the lock.
    func currentKey(_ key: SymmetricKey, pin: PIN, scrypt: Scrypt) throws(VaultError) -> SymmetricKey {
        // Under the old key the ring must not be asked for: the link says that this key has been replaced.
        guard state.isRekeying, let pending = try? state.pendingKey(KeyRing(key)) else { return key }
        if try !ring(pending.new).keys.contains(key) {
            guard pending.isCommitted else {
                try takeBack(pending.new)
                return key
            }
            try writeLink(from: key, to: pending.new)
        }
        let device = try state.device()
        let slot = try? PINSlot(wrapping: pending.new, pin: pin, identity: identity, device: device, scrypt: scrypt)
        guard let slot else { throw .outOfMemory }
        try state.write(slot)
        return pending.new
    }

    /// Says to every device that one key was replaced by another.
    private func writeLink(from old: SymmetricKey, to new: SymmetricKey) throws(VaultError) {
        guard let link = try? KeyLink(from: old, to: new, identity: identity) else {
            throw .cannotWrite("the link between the keys could not be sealed")
        }
        do throws(FileFailure) {
            let keys = try directory.makeSubdirectory(VaultDirectory.keysName)
            // What stands there under its name, if anything, is not genuine.
            try keys.write(link.fileName, link.bytes, replacing: true)
        } catch {
            throw .cannotWrite("\(directory.path): \(error.words)")
        }
    }

    /// Removes what step 1 and 2 left behind.
    private func takeBack(_ new: SymmetricKey) throws(VaultError) {
        let slots = try Slots(in: directory, identity: identity, toDelete: true)
        let name = KeyID(of: new, identity: identity)
        try slots.delete(slots.all.filter { $0.keyID == name }, in: directory)
        try state.forgetPendingKey()
    }

    /// Step 4 but for the PIN slot.
    private func sealEverything(_ ring: KeyRing) throws(VaultError) {
        let records = try Records(in: directory, ring: ring, identity: identity, counting: .rekeying)
        var seen = try state.seen(ring)
        try records.check(against: &seen)
        try reseal(records, ring, &seen)
        try state.write(seen, key: ring.newest)
        try sealUses(ring)
        // What did not count is left for a person to accept.
        try remove(records.files.filter { $0.isOutdated && $0.counts })
        let slots = try Slots(in: directory, identity: identity, toDelete: true)
        let name = KeyID(of: ring.newest, identity: identity)
        try slots.delete(slots.all.filter { $0.keyID != name }, in: directory)
    }

    /// Writes a new revision of every record whose current one is under a key that was replaced.
    func reseal(
        _ records: Records,
        _ ring: KeyRing,
        _ seen: inout SeenRevisions,
        but deleted: Set<RecordID> = []
    ) throws(VaultError) {
        let device = try state.device().id
        let outdated = records.all.filter { $0.value.key != ring.newest && !deleted.contains($0.key) }
        for (id, record) in outdated.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
            let revision = try revision(of: id, after: record.newest, device: device)
            let file = record.current.resealed(
                as: revision,
                under: ring.newest,
                from: record.key,
                identity: identity
            )
            guard let file else { throw .damaged("a record could not be sealed again") }
            try place(file)
            seen.note(id, newest: revision, isDeleted: record.isDeleted)
        }
    }
}

extension UnlockedVault {
    /// Gives the vault another key, and seals everything anew under it; it may take a while.
    ///
    /// Every slot is replaced by the ones that are named here. Other devices open the vault only with one of them
    /// from now on. Copies of the vault from before still open with the secrets from before.
    ///
    /// - Parameters:
    ///   - pin: The PIN of this device; it stays.
    ///   - passphrase: The passphrase from now on, if there shall be one.
    ///   - recoveryCode: The recovery code from now on, if there shall be one.
    /// - Throws: ``VaultError``; whatever was begun is finished or taken back at the next unlocking.
    public func rekey(
        pin: PIN,
        passphrase: Passphrase?,
        recoveryCode: RecoveryCode?
    ) async throws(VaultError) {
        try await rekey(pin: pin, passphrase: passphrase, recoveryCode: recoveryCode, scrypt: .standard)
    }

    func rekey(
        pin: PIN,
        passphrase: Passphrase?,
        recoveryCode: RecoveryCode?,
        scrypt: Scrypt
    ) async throws(VaultError) {
        if let passphrase, !passphrase.isStrongEnough { throw .passphraseTooWeak(bits: passphrase.strength) }
        let secrets = [passphrase.map(PortableSecret.passphrase), recoveryCode.map(PortableSecret.recoveryCode)]
        let new = try await perform { key, files throws(VaultError) in
            try files.rekey(key: key, pin: pin, secrets: secrets.compactMap(\.self), scrypt: scrypt)
        }
        replaceKey(new)
    }
}
