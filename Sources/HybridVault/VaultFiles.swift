// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridPrimitives

/// The blocking work on a vault's files; every function runs on a thread of its own.
struct VaultFiles: Sendable {
    let directory: Directory
    let identity: VaultIdentity
    let state: LocalState
    let clock: WallClock

    /// What became of a PIN.
    enum Outcome: Sendable {
        case opened(SymmetricKey, notes: [VaultNote], isBackedUp: Bool)
        case wrongPIN(attemptsLeft: Int)
        case lockedOut(seconds: Int)
    }

    /// Counts the attempt, judges the PIN, then verifies every record.
    ///
    /// - Parameter checkingRecords: Whether records are looked at; only a person who accepts them as they are comes
    ///   in without.
    func unlock(with pin: PIN, checkingRecords: Bool = true) throws(VaultError) -> Outcome {
        try state.locked { () throws(VaultError) in
            let slot = try state.pinSlot()
            let device = try state.device()
            guard device.id == slot.device else { throw .damaged("the PIN slot is of another device") }
            var attempts = try state.attempts()
            let before = attempts
            let remaining = attempts.remaining(now: clock.now())
            guard remaining == 0 else {
                if attempts != before { try state.write(attempts) }
                return .lockedOut(seconds: Int(remaining))
            }
            attempts.begin(now: clock.now())
            try state.write(attempts)
            let key: SymmetricKey?
            do {
                key = try slot.open(pin: pin, device: device)
            } catch {
                // Nothing was judged, so nothing is counted.
                try state.write(before)
                throw .outOfMemory
            }
            guard let key else { return .wrongPIN(attemptsLeft: attempts.left) }
            try state.write(AttemptCounter())
            guard checkingRecords else {
                let key = try currentKey(key, pin: pin, scrypt: slot.scrypt)
                return .opened(key, notes: [], isBackedUp: false)
            }
            let newest = try finishRekeying(key, pin: pin, scrypt: slot.scrypt)
            let records = try records(key: newest)
            removeSuperseded(records, device: device.id)
            return .opened(
                newest,
                notes: records.notes + records.unusable,
                isBackedUp: state.lastBackup(newest)?.covers(records) ?? false
            )
        }
    }

    /// Reads and verifies everything again; for use while unlocked.
    func load(key: SymmetricKey) throws(VaultError) -> Records {
        try state.locked { () throws(VaultError) in try records(key: key) }
    }

    /// Writes one revision of one record, after `make` has seen all others.
    func write(
        key: SymmetricKey,
        _ make: (Records) throws(VaultError) -> (id: RecordID, body: RecordBody)
    ) throws(VaultError) {
        try state.locked { () throws(VaultError) in
            let records = try records(key: key)
            var seen = try state.seen(KeyRing(key))
            let (id, body) = try make(records)
            guard records.all[id] != nil || records.count < Records.maximumCount else {
                throw .tooLarge("it has \(Records.maximumCount) records, deleted ones included; make another vault")
            }
            let revision = try revision(of: id, after: records.all[id]?.newest, device: state.device().id)
            let file = RecordFile(sealing: body, id: id, revision: revision, key: key, identity: identity)
            guard let file else { throw .tooLarge("a record would be longer than 256 KiB") }
            try place(file)
            // Durable from here on. If the memory of it can't be written, the next unlocking does it; but a deletion
            // that a server withholds until then would be undone without a word, so that is not called done.
            let isDeleted = body.kind == RecordBody.tombstone
            seen.note(id, newest: revision, isDeleted: isDeleted)
            do throws(VaultError) {
                try state.write(seen, key: key)
            } catch {
                if isDeleted { throw .deletionNotNoted(error.words) }
            }
        }
    }

    /// Wraps the vault key for another PIN and forgets the slot before.
    func changePIN(key: SymmetricKey, to pin: PIN, scrypt: Scrypt) throws(VaultError) {
        guard pin.isLongEnough else { throw .pinTooShort }
        try state.locked { () throws(VaultError) in
            try checkCounts(key)
            let device = try state.device()
            let slot = try? PINSlot(wrapping: key, pin: pin, identity: identity, device: device, scrypt: scrypt)
            guard let slot else { throw .outOfMemory }
            try state.write(slot)
        }
    }

    /// All records under a key, checked against what was seen, which learns what is new.
    func records(key: SymmetricKey) throws(VaultError) -> Records {
        let ring = try ring(key)
        let records = try Records(in: directory, ring: ring, identity: identity)
        var seen = try state.seen(ring)
        let before = seen
        try records.check(against: &seen)
        if seen != before { try state.write(seen, key: key) }
        return records
    }

    /// Refuses a key that was replaced while a person was asked for something; the caller holds the lock.
    ///
    /// What is written under it then would take the place of the only copy of the key that counts. The memory of what
    /// was seen is asked first, because it is sealed under the newest key and no sync server can withhold it.
    ///
    /// - Throws: ``VaultError/locked`` or ``VaultError/rekeyedElsewhere``.
    func checkCounts(_ key: SymmetricKey) throws(VaultError) {
        guard !state.isRekeying, (try? state.seen(KeyRing(key))) != nil else { throw .locked }
        _ = try ring(key)
    }

    /// A key and those that it replaced.
    func ring(_ key: SymmetricKey) throws(VaultError) -> KeyRing {
        try KeyRing(key, in: directory, identity: identity)
    }

    /// The revision of a record after one, by this device.
    func revision(of id: RecordID, after newest: Revision?, device: DeviceID) throws(VaultError) -> Revision {
        let (counter, overflow) = (newest?.counter ?? 0).addingReportingOverflow(1)
        guard !overflow else {
            let path = "\(VaultDirectory.recordsName)/\(id)/\(UInt64.max)-…"
            throw .tooLarge("nobody wrote \(path) in earnest, and no revision can follow it; delete that file")
        }
        return Revision(counter: counter, device: device)
    }

    /// Writes one revision, durably.
    func place(_ file: RecordFile) throws(VaultError) {
        do {
            let records = try directory.makeSubdirectory(VaultDirectory.recordsName)
            let record = try records.makeSubdirectory(file.id.description)
            try record.write(file.revision.fileName, file.bytes, replacing: false)
        } catch {
            throw .cannotWrite("\(directory.path): \(error.words)")
        }
    }

    /// Removes files from `records/`, durably.
    func remove(_ files: [Records.Found]) throws(VaultError) {
        do {
            guard !files.isEmpty else { return }
            let records = try directory.subdirectory(VaultDirectory.recordsName)
            for (name, files) in Dictionary(grouping: files, by: \.directory) {
                try records.subdirectory(name).remove(files.map(\.name))
            }
        } catch {
            throw .cannotWrite("\(directory.path): \(error.words)")
        }
    }

    /// Removes revisions that this device wrote, that no longer count, and that are older than thirty days.
    ///
    /// Until then they help whoever has to find out what happened. Another device's are its own to remove, so that
    /// no two devices disagree about a file while a sync tool looks on.
    private func removeSuperseded(_ records: Records, device: DeviceID) {
        guard let root = try? directory.subdirectory(VaultDirectory.recordsName) else { return }
        let now = clock.now()
        let old = records.files.filter { found in
            guard !found.isOutdated, found.file.revision.device == device, let record = records.all[found.file.id],
                found.file.revision < record.newest, found.file != record.current,
                let written = (try? root.subdirectory(found.directory))?.modified(found.name)
            else { return false }
            return now > written && now - written > Self.supersededSeconds
        }
        // What can't be removed now is removed another time.
        try? remove(old)
    }

    private static let supersededSeconds: UInt64 = 30 * 24 * 3600
}
