// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridPrimitives

/// Blocking operations on the files of a vault, which run on a dedicated thread.
///
/// The caller must hold the lock of the state, except for ``tryPIN(_:checkingRecords:)`` and ``tryKey(_:)``.
struct VaultFiles: Sendable {
    let directory: Directory
    let identity: VaultIdentity
    let state: LocalState
    let location: VaultLocation

    /// Counts the attempt, tries the PIN, then verifies every record.
    ///
    /// - Parameters:
    ///   - pin: The PIN to try.
    ///   - checkingRecords: False if the user is about to accept the records as they are.
    func tryPIN(_ pin: PIN, checkingRecords: Bool) throws(VaultError) -> Result<UnlockedVault, UnlockFailure> {
        let clock = location.clock
        return try state.withLock { () throws(VaultError) in
            let slot = try state.slot()
            let device = try state.device()
            guard device.id == slot.header.device else { throw .damaged("the PIN slot is from a different device") }
            var attempts = try state.attempts()
            let before = attempts
            let remaining = attempts.remaining(now: clock.now())
            guard remaining == 0 else {
                if attempts != before { try state.write(attempts) }
                return .failure(.lockedOut(seconds: Int(remaining)))
            }
            attempts.begin(now: clock.now())
            try state.write(attempts)
            let key: SymmetricKey?
            do throws(VaultError) {
                key = try slot.unwrapKey(pin: pin, device: device, tpm: location.tpm)
            } catch {
                // The PIN was not tried, so the attempt does not count.
                try state.write(before)
                throw error
            }
            guard let key else {
                let wait = attempts.left == 0 ? Int(attempts.wait) : nil
                return .failure(.wrongPIN(attemptsLeft: attempts.left, waitSeconds: wait))
            }
            try state.write(AttemptCounter())
            guard checkingRecords else {
                let current = try currentKey(key, pin: pin, scrypt: slot.header.scrypt)
                return .success(UnlockedVault(files: self, key: current))
            }
            let newest = try finishRekeying(key, pin: pin, scrypt: slot.header.scrypt)
            let records = try records(key: newest)
            rememberSlots(of: records.ring)
            removeSupersededRevisions(records, device: device.id)
            let warnings = records.warnings + records.unusable
            let isBackedUp = state.lastBackup(newest)?.covers(records) ?? false
            return .success(UnlockedVault(files: self, key: newest, warnings: warnings, isBackedUp: isBackedUp))
        }
    }

    /// Writes one revision of one record, which `make` creates from the current records.
    func write(
        key: SymmetricKey,
        _ make: (VaultRecords) throws(VaultError) -> (id: RecordID, body: RecordBody)
    ) throws(VaultError) {
        let records = try records(key: key)
        var seen = try state.seen(VaultKeyRing(key))
        let (id, body) = try make(records)
        guard records.all[id] != nil || records.all.count < VaultRecords.maximumCount else {
            throw .tooLarge("it has \(VaultRecords.maximumCount) records, deleted ones included; create another vault")
        }
        let revision = try revision(of: id, after: records.all[id]?.newest, device: state.device().id)
        try write(try seal(body, id: id, revision: revision, key: key))
        let isDeleted = body.kind == RecordBody.tombstone
        seen.insert(id, newest: revision, isDeleted: isDeleted)
        try record(seen, key: key, orThrow: isDeleted ? VaultError.deletionNotRecorded : VaultError.changeNotRecorded)
    }

    /// Replaces the record of seen revisions after a change that is durable already.
    ///
    /// The next unlocking updates the record if this fails. A server that withholds the change until then undoes it
    /// unnoticed, so the failure is reported.
    func record(
        _ seen: SeenRevisions,
        key: SymmetricKey,
        orThrow failure: (String) -> VaultError = VaultError.changeNotRecorded
    ) throws(VaultError) {
        do throws(VaultError) {
            try state.write(seen, key: key)
        } catch {
            throw failure(error.detail)
        }
    }

    /// Replaces the slot of this device by one of the same kind.
    func changePIN(key: SymmetricKey, to pin: PIN) throws(VaultError) {
        guard pin.isLongEnough else { throw .pinTooShort }
        try checkKeyIsCurrent(key)
        try replaceSlot(wrapping: key, pin: pin, scrypt: location.scrypt(of: identity))
    }

    /// Reads all records, checks them against the revisions seen before, and adds new revisions to these.
    func records(key: SymmetricKey) throws(VaultError) -> VaultRecords {
        let ring = try ring(key)
        var seen = try state.seen(ring)
        let records = try VaultRecords(in: directory, ring: ring, identity: identity, seen: seen)
        let before = seen
        try records.check(against: &seen)
        if seen != before { try state.write(seen, key: key) }
        return records
    }

    /// Throws an error if the key was replaced while the user was prompted.
    ///
    /// A slot for the old key would overwrite the only copy of the current key. The record of seen revisions is checked
    /// first: it is sealed under the newest key, and no sync server can withhold it.
    ///
    /// - Returns: The key and its predecessors.
    /// - Throws: ``VaultError/locked`` or ``VaultError/rekeyedElsewhere``.
    @discardableResult
    func checkKeyIsCurrent(_ key: SymmetricKey) throws(VaultError) -> VaultKeyRing {
        guard !state.isRekeying, (try? state.seen(VaultKeyRing(key))) != nil else { throw .locked }
        return try ring(key)
    }

    /// Records the current key and its slots in the local state, if possible; the next unlocking tries again.
    ///
    /// - Parameters:
    ///   - ring: The current key and its predecessors.
    ///   - own: Slots that were created here.
    func rememberSlots(of ring: VaultKeyRing, own: [PortableSlot] = []) {
        // A server that fills the folder must not slow down each unlocking.
        let slots = try? PortableSlots(in: directory, identity: identity, limit: 4 * PortableSlots.maximumCount)
        try? state.remember(ring, own: own, slots: slots?.all ?? [])
    }

    /// Returns a key together with the keys that it replaced.
    ///
    /// - Throws: ``VaultError/rekeyedElsewhere``, which is recorded: a server may withhold the link later.
    func ring(_ key: SymmetricKey) throws(VaultError) -> VaultKeyRing {
        try state.checkIsNotReplaced(key)
        do throws(VaultError) {
            return try VaultKeyRing(key, in: directory, identity: identity)
        } catch {
            if error == .rekeyedElsewhere { try? state.rememberReplacement(of: key) }
            throw error
        }
    }

    /// Returns the revision that follows `newest` and is written by this device; its file does not exist yet.
    func revision(of id: RecordID, after newest: Revision?, device: DeviceID) throws(VaultError) -> Revision {
        let directory = try? directory.subdirectory(VaultDirectory.recordsName).subdirectory(id.description)
        var revision = Revision(counter: newest?.counter ?? 0, device: device)
        repeat {
            let (counter, overflow) = revision.counter.addingReportingOverflow(1)
            guard !overflow else {
                let path = "\(VaultDirectory.recordsName)/\(id)/\(UInt64.max)-…"
                throw .tooLarge("\(path) was forged, and no revision can follow it; delete that file")
            }
            revision = Revision(counter: counter, device: device)
            // A file that is not authentic, or under a replaced key, may have the name, and is not overwritten.
        } while directory?.contains(revision.fileName) == true
        return revision
    }

    /// Seals one revision of a record.
    func seal(
        _ body: RecordBody,
        id: RecordID,
        revision: Revision,
        key: SymmetricKey
    ) throws(VaultError) -> RecordFile {
        guard let file = RecordFile(sealing: body, id: id, revision: revision, key: key, identity: identity) else {
            throw .tooLarge("a record would be longer than 256 KiB")
        }
        return file
    }

    /// Writes one revision durably.
    func write(_ file: RecordFile) throws(VaultError) {
        try accessing(directory.path) { () throws(FileError) in
            let records = try directory.makeSubdirectory(VaultDirectory.recordsName)
            let record = try records.makeSubdirectory(file.id.description)
            try record.write(file.revision.fileName, file.bytes, replacing: false)
        }
    }

    /// Removes files from `records/` durably.
    func remove(_ files: [VaultRecords.Found]) throws(VaultError) {
        guard !files.isEmpty else { return }
        try accessing(directory.path) { () throws(FileError) in
            let records = try directory.subdirectory(VaultDirectory.recordsName)
            for (name, files) in Dictionary(grouping: files, by: \.directory) {
                try records.subdirectory(name).remove(files.map(\.name))
            }
        }
    }

    /// Removes superseded revisions of this device that are older than thirty days.
    ///
    /// Until then they help to investigate problems. Each device removes only its own revisions, so that two devices
    /// never change the same file while a sync tool runs.
    private func removeSupersededRevisions(_ records: VaultRecords, device: DeviceID) {
        guard let root = try? directory.subdirectory(VaultDirectory.recordsName) else { return }
        let now = location.clock.now()
        let old = records.files.filter { found in
            guard !found.isOutdated, found.file.revision.device == device, let record = records.all[found.file.id],
                found.file.revision < record.newest, found.file != record.current,
                let written = (try? root.subdirectory(found.directory))?.modified(found.name)
            else { return false }
            return now > written && now - written > Self.supersededSeconds
        }
        // Best effort; the next unlocking tries again.
        try? remove(old)
    }

    private static let supersededSeconds: UInt64 = 30 * 24 * 3600
}
