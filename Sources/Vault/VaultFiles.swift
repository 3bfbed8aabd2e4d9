// SPDX-License-Identifier: Apache-2.0

internal import Authenticator
internal import Crypto

/// The blocking work on a vault's files; every function runs on a thread of its own.
struct VaultFiles: Sendable {
    let directory: Directory
    let identity: VaultIdentity
    let state: LocalState
    let clock: WallClock

    /// What became of a PIN.
    enum Outcome: Sendable {
        case opened(SymmetricKey, notes: [VaultNote])
        case wrongPIN(attemptsLeft: Int)
        case lockedOut(seconds: Int)
    }

    /// Counts the attempt, judges the PIN, then verifies every record.
    func unlock(with pin: PIN) throws(VaultError) -> Outcome {
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
            let records = try records(key: key)
            return .opened(key, notes: records.notes + records.unusable)
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
            let (id, body) = try make(records)
            guard records.all[id] != nil || records.all.count < Records.maximumCount else {
                throw .tooLarge("it has \(Records.maximumCount) records; delete what is not needed")
            }
            let (counter, overflow) = (records.all[id]?.newest.counter ?? 0).addingReportingOverflow(1)
            guard !overflow else { throw .tooLarge("a record has no further revisions") }
            let revision = Revision(counter: counter, device: try state.device().id)
            let file = RecordFile(sealing: body, id: id, revision: revision, key: key, identity: identity)
            guard let file else { throw .tooLarge("a record would be longer than 256 KiB") }
            try place(file)
            // Durable from here on. If the memory of it can't be written, the next unlocking does it.
            var seen = try state.seen(key: key)
            seen.note(id, newest: revision, isDeleted: body.kind == RecordBody.tombstone)
            try? state.write(seen, key: key)
        }
    }

    /// Wraps the vault key for another PIN and forgets the slot before.
    func changePIN(key: SymmetricKey, to pin: PIN, scrypt: Scrypt) throws(VaultError) {
        guard pin.isLongEnough else { throw .pinTooShort }
        try state.locked { () throws(VaultError) in
            let slot = try? PINSlot(
                wrapping: key,
                pin: pin,
                identity: identity,
                device: try state.device(),
                scrypt: scrypt
            )
            guard let slot else { throw .outOfMemory }
            try state.write(slot)
        }
    }

    private func records(key: SymmetricKey) throws(VaultError) -> Records {
        let records = try Records(in: directory, key: key, identity: identity)
        var seen = try state.seen(key: key)
        let before = seen
        try records.check(against: &seen)
        if seen != before { try state.write(seen, key: key) }
        return records
    }

    private func place(_ file: RecordFile) throws(VaultError) {
        do {
            let records = try directory.makeSubdirectory(VaultDirectory.recordsName)
            let record = try records.makeSubdirectory(file.id.description)
            try record.write(file.revision.fileName, file.bytes, replacing: false)
        } catch {
            throw .cannotWrite("\(directory.path): \(error.words)")
        }
    }
}
