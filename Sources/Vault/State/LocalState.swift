// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// What this device keeps about one vault, outside of it: `<state directory>/<vault ID>/`, 0700, never synced.
///
/// Holds the PIN slot, the device's secret, the count of wrong PINs and the newest revisions seen.
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

    /// The newest revisions that were seen.
    func seen(key: SymmetricKey) throws(VaultError) -> SeenRevisions {
        let bytes = try read(SeenRevisions.fileName, limit: SeenRevisions.maximumLength)
        guard let seen = SeenRevisions(bytes: bytes, key: key, identity: identity) else {
            throw .damaged(file(SeenRevisions.fileName))
        }
        return seen
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
