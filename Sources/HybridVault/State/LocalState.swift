// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// What this device keeps about one vault, outside of it: `<state directory>/<vault ID>/`, 0700, never synced.
///
/// Holds the PIN slot, the device's secret, the count of wrong PINs, the newest revisions seen, what the last backup
/// holds, and the next vault key while a rekeying goes on.
struct LocalState: Sendable {
    private static let lockName = "lock"

    private let directory: Directory
    private let identity: VaultIdentity

    /// Opens the state of a vault.
    ///
    /// - Throws: ``VaultError/noPINSlotHere`` when this device has none.
    init(stateDirectory: String, identity: VaultIdentity) throws(VaultError) {
        let path = stateDirectory + "/" + identity.name
        do {
            directory = try Directory.open(path: path)
        } catch .absent {
            throw .noPINSlotHere(path: path)
        } catch {
            throw .damaged("\(path) can't be opened: \(error.words)")
        }
        self.identity = identity
        try VaultDirectory.checkPermissions(of: directory)
        guard directory.contains(PINSlot.fileName) else { throw .noPINSlotHere(path: path) }
    }

    /// Opens what there is of the state of a vault, or makes it, to give the vault a PIN here.
    ///
    /// The device of a state that was there before is kept, because records bear its name.
    init(joining stateDirectory: String, identity: VaultIdentity) throws(VaultError) {
        self.identity = identity
        do {
            directory = try Directory.make(path: stateDirectory).makeSubdirectory(identity.name)
        } catch {
            throw .cannotWrite("\(stateDirectory): \(error.words)")
        }
        try VaultDirectory.checkPermissions(of: directory)
    }

    /// The device that this state names; a new one if there is none yet, or none that can be read.
    func deviceOrNew() throws(VaultError) -> Device {
        if let device = try? device() { return device }
        guard let device = Device.random() else { throw .damaged("the random source") }
        try write(Device.fileName, device.bytes)
        return device
    }

    /// Whether what was seen is remembered.
    var hasSeen: Bool { directory.contains(SeenRevisions.fileName) }

    /// Makes the state of a new vault, with everything but what ``write(_:)-(PINSlot)`` adds.
    init(creatingIn stateDirectory: String, identity: VaultIdentity, device: Device) throws(VaultError) {
        do {
            directory = try Directory.make(path: stateDirectory).makeSubdirectory(identity.name)
            self.identity = identity
            try directory.write(Device.fileName, device.bytes, replacing: false)
            try directory.write(AttemptCounter.fileName, AttemptCounter().bytes, replacing: false)
        } catch {
            throw .cannotWrite("\(stateDirectory): \(error.words)")
        }
    }

    /// Does something while no other process changes the state.
    func locked<Value>(_ body: () throws(VaultError) -> Value) throws(VaultError) -> Value {
        let lock: FileLock?
        do {
            lock = try FileLock(directory: directory.path, name: Self.lockName)
        } catch {
            throw .cannotWrite("\(directory.path): \(error.words)")
        }
        guard let lock else { throw .busy }
        let value = try body()
        _ = consume lock
        return value
    }

    /// The PIN slot, which must be of this vault.
    func pinSlot() throws(VaultError) -> PINSlot {
        guard let slot = PINSlot(bytes: try read(PINSlot.fileName, limit: PINSlot.length)) else {
            throw .damaged(file(PINSlot.fileName))
        }
        guard slot.identity == identity else {
            throw .damaged("\(VaultIdentity.fileName) and \(file(PINSlot.fileName)) speak of different vaults")
        }
        return slot
    }

    /// This device.
    func device() throws(VaultError) -> Device {
        guard let device = Device(bytes: try read(Device.fileName, limit: Device.length)) else {
            throw .damaged(file(Device.fileName))
        }
        return device
    }

    /// The count of wrong PINs.
    func attempts() throws(VaultError) -> AttemptCounter {
        let bytes = try read(AttemptCounter.fileName, limit: AttemptCounter.length)
        guard let attempts = AttemptCounter(bytes: bytes) else { throw .damaged(file(AttemptCounter.fileName)) }
        return attempts
    }

    /// The newest revisions that were seen; after a rekeying that was cut short, under the key before.
    func seen(_ ring: KeyRing) throws(VaultError) -> SeenRevisions {
        let bytes = try read(SeenRevisions.fileName, limit: SeenRevisions.maximumLength)
        for key in ring.keys {
            if let seen = SeenRevisions(bytes: bytes, key: key, identity: identity) { return seen }
        }
        throw .damaged(file(SeenRevisions.fileName))
    }

    /// What the last backup holds; `nil` if there is none, or if it can't be told.
    func lastBackup(_ key: SymmetricKey) -> LastBackup? {
        guard let bytes = try? directory.read(LastBackup.fileName, limit: SeenRevisions.maximumLength) else {
            return nil
        }
        return LastBackup(bytes: bytes, key: key, identity: identity)
    }

    /// When the last backup was written, in seconds since 1970, as its file says; needs no key and proves nothing.
    var timeOfLastBackup: UInt64? {
        (try? directory.read(LastBackup.fileName, limit: SeenRevisions.maximumLength)).flatMap(LastBackup.time(in:))
    }

    /// Keeps what a backup holds.
    func write(_ backup: LastBackup, key: SymmetricKey) throws(VaultError) {
        guard let bytes = try? backup.bytes(key: key, identity: identity) else {
            throw .cannotWrite("\(file(LastBackup.fileName)) could not be sealed")
        }
        try write(LastBackup.fileName, bytes)
    }

    /// Whether a rekeying was begun and not finished.
    var isRekeying: Bool { directory.contains(PendingKey.fileName) }

    /// The key before and the next key of a rekeying that goes on.
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

    /// Keeps the next key, under the present one; when committed, it counts from here on.
    func write(next new: SymmetricKey, under old: SymmetricKey, isCommitted: Bool) throws(VaultError) {
        let bytes = try? PendingKey.bytes(new, under: old, isCommitted: isCommitted, identity: identity)
        guard let bytes else {
            throw .cannotWrite("\(file(PendingKey.fileName)) could not be sealed")
        }
        try write(PendingKey.fileName, bytes)
    }

    /// The rekeying is finished, or was given up before it counted.
    func forgetPendingKey() throws(VaultError) {
        do {
            try directory.remove([PendingKey.fileName])
        } catch {
            throw .cannotWrite("\(file(PendingKey.fileName)): \(error.words)")
        }
    }

    /// Keeps a PIN slot in place of the one before.
    func write(_ slot: PINSlot) throws(VaultError) { try write(PINSlot.fileName, slot.bytes) }

    /// Keeps the count of wrong PINs.
    func write(_ attempts: AttemptCounter) throws(VaultError) { try write(AttemptCounter.fileName, attempts.bytes) }

    /// Keeps the newest revisions that were seen.
    func write(_ seen: SeenRevisions, key: SymmetricKey) throws(VaultError) {
        guard let bytes = try? seen.bytes(key: key, identity: identity) else {
            throw .cannotWrite("\(file(SeenRevisions.fileName)) could not be sealed")
        }
        try write(SeenRevisions.fileName, bytes)
    }

    private func file(_ name: String) -> String { directory.path + "/" + name }

    private func read(_ name: String, limit: Int) throws(VaultError) -> [UInt8] {
        do {
            return try directory.read(name, limit: limit)
        } catch {
            throw .damaged("\(file(name)) can't be read: \(error.words)")
        }
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws(VaultError) {
        do {
            try directory.write(name, bytes, replacing: true)
        } catch {
            throw .cannotWrite("\(file(name)): \(error.words)")
        }
    }
}
