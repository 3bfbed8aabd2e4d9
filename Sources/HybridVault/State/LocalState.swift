// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The local state of one vault on this device: `<state directory>/<vault ID>/`, 0700, never synced.
///
/// It holds the PIN slot, the device's secret, the attempt counter, the newest revisions seen, the contents of the last
/// backup, and the next vault key during a rekey.
struct LocalState: Sendable {
    private static let lockName = "lock"

    private let directory: Directory
    private let identity: VaultIdentity

    /// Opens the state of a vault.
    ///
    /// - Throws: ``VaultError/noPINSlotHere(path:)`` if the vault has no PIN on this device.
    init(stateDirectory: String, identity: VaultIdentity) throws(VaultError) {
        let path = stateDirectory + "/" + identity.name
        do {
            directory = try Directory.open(path: path)
        } catch .absent {
            throw .noPINSlotHere(path: path)
        } catch {
            throw .damaged("\(path) can't be opened: \(error.reason)")
        }
        self.identity = identity
        try VaultDirectory.checkPermissions(of: directory)
        guard directory.contains(PINSlot.fileName) else { throw .noPINSlotHere(path: path) }
    }

    /// Opens an existing state, complete or not, or creates one, to set a PIN on this device.
    ///
    /// An existing device ID is kept, because records contain it.
    init(joining stateDirectory: String, identity: VaultIdentity) throws(VaultError) {
        self.identity = identity
        directory = try accessing(
            stateDirectory,
            try Directory.make(path: stateDirectory).makeSubdirectory(identity.name)
        )
        try VaultDirectory.checkPermissions(of: directory)
    }

    /// Returns the device of this state, or a new one if there is none or it cannot be read.
    func deviceOrNew() throws(VaultError) -> Device {
        if let device = try? device() { return device }
        guard let device = Device.random() else { throw .damaged("the random source") }
        try write(Device.fileName, device.bytes)
        return device
    }

    /// True if there is a record of seen revisions.
    var hasSeenRevisions: Bool { directory.contains(SeenRevisions.fileName) }

    /// Creates the state of a new vault, complete except for the PIN slot and the seen revisions.
    init(creatingIn stateDirectory: String, identity: VaultIdentity, device: Device) throws(VaultError) {
        do {
            directory = try Directory.make(path: stateDirectory).makeSubdirectory(identity.name)
            self.identity = identity
            try directory.write(Device.fileName, device.bytes, replacing: false)
            try directory.write(AttemptCounter.fileName, AttemptCounter().bytes, replacing: false)
        } catch {
            throw .cannotWrite("\(stateDirectory): \(error.reason)")
        }
    }

    /// Runs `body` while no other process can change the state.
    func withLock<Value>(_ body: () throws(VaultError) -> Value) throws(VaultError) -> Value {
        let lock = try accessing(directory.path, try FileLock(directory: directory.path, name: Self.lockName))
        guard let lock else { throw .busy }
        let value = try body()
        _ = consume lock
        return value
    }

    /// Returns the PIN slot, which must belong to this vault.
    func pinSlot() throws(VaultError) -> PINSlot {
        guard let slot = PINSlot(bytes: try read(PINSlot.fileName, limit: PINSlot.length)) else {
            throw .damaged(file(PINSlot.fileName))
        }
        guard slot.identity == identity else {
            throw .damaged("\(VaultIdentity.fileName) and \(file(PINSlot.fileName)) belong to different vaults")
        }
        return slot
    }

    /// Returns this device.
    func device() throws(VaultError) -> Device {
        guard let device = Device(bytes: try read(Device.fileName, limit: Device.length)) else {
            throw .damaged(file(Device.fileName))
        }
        return device
    }

    /// Returns the attempt counter.
    func attempts() throws(VaultError) -> AttemptCounter {
        let bytes = try read(AttemptCounter.fileName, limit: AttemptCounter.length)
        guard let attempts = AttemptCounter(bytes: bytes) else { throw .damaged(file(AttemptCounter.fileName)) }
        return attempts
    }

    /// Returns the newest revisions seen; after an interrupted rekey they are sealed under the previous key.
    func seen(_ ring: KeyRing) throws(VaultError) -> SeenRevisions {
        let bytes = try read(SeenRevisions.fileName, limit: SeenRevisions.maximumLength)
        for key in ring.keys {
            if let seen = SeenRevisions(bytes: bytes, key: key, identity: identity) { return seen }
        }
        throw .damaged(file(SeenRevisions.fileName))
    }

    /// Returns the contents of the last backup; `nil` if there is none or they cannot be read.
    func lastBackup(_ key: SymmetricKey) -> LastBackup? {
        guard let bytes = try? directory.read(LastBackup.fileName, limit: SeenRevisions.maximumLength) else {
            return nil
        }
        return LastBackup(bytes: bytes, key: key, identity: identity)
    }

    /// Time of the last backup in seconds since 1970, as its file says; not authenticated.
    var timeOfLastBackup: UInt64? {
        (try? directory.read(LastBackup.fileName, limit: SeenRevisions.maximumLength)).flatMap(LastBackup.time(in:))
    }

    /// Stores the contents of a backup.
    func write(_ backup: LastBackup, key: SymmetricKey) throws(VaultError) {
        guard let bytes = try? backup.bytes(key: key, identity: identity) else {
            throw .cannotWrite("\(file(LastBackup.fileName)) could not be sealed")
        }
        try write(LastBackup.fileName, bytes)
    }

    /// True if a rekey has begun and not finished.
    var isRekeying: Bool { directory.contains(PendingKey.fileName) }

    /// Returns the old and the new key of a rekey in progress.
    func pendingKey(
        _ ring: KeyRing
    ) throws(VaultError) -> (old: SymmetricKey, new: SymmetricKey, isCommitted: Bool)? {
        guard isRekeying else { return nil }
        let bytes = try read(PendingKey.fileName, limit: PendingKey.length)
        guard let keys = PendingKey.read(bytes, ring: ring, identity: identity) else {
            throw .damaged(file(PendingKey.fileName))
        }
        return keys
    }

    /// Stores the next key, sealed under the present one.
    ///
    /// Once committed, it is the current key.
    func write(next new: SymmetricKey, under old: SymmetricKey, isCommitted: Bool) throws(VaultError) {
        let bytes = try? PendingKey.bytes(new, under: old, isCommitted: isCommitted, identity: identity)
        guard let bytes else {
            throw .cannotWrite("\(file(PendingKey.fileName)) could not be sealed")
        }
        try write(PendingKey.fileName, bytes)
    }

    /// Removes the pending key of a rekey that is finished or was undone.
    func forgetPendingKey() throws(VaultError) {
        try accessing(file(PendingKey.fileName), try directory.remove([PendingKey.fileName]))
    }

    /// Replaces the PIN slot.
    func write(_ slot: PINSlot) throws(VaultError) { try write(PINSlot.fileName, slot.bytes) }

    /// Replaces the attempt counter.
    func write(_ attempts: AttemptCounter) throws(VaultError) { try write(AttemptCounter.fileName, attempts.bytes) }

    /// Replaces the record of seen revisions.
    func write(_ seen: SeenRevisions, key: SymmetricKey) throws(VaultError) {
        guard let bytes = try? seen.bytes(key: key, identity: identity) else {
            throw .cannotWrite("\(file(SeenRevisions.fileName)) could not be sealed")
        }
        try write(SeenRevisions.fileName, bytes)
    }

    private func file(_ name: String) -> String { directory.path + "/" + name }

    private func read(_ name: String, limit: Int) throws(VaultError) -> [UInt8] {
        try accessing(
            "\(file(name)) can't be read",
            orThrow: VaultError.damaged,
            try directory.read(name, limit: limit)
        )
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws(VaultError) {
        try accessing(file(name), try directory.write(name, bytes, replacing: true))
    }
}
