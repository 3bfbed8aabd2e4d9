// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The local state of one vault on this device, in `<state directory>/<vault ID>/` with mode 0700; never synced.
///
/// It holds the PIN slot, the device's secret, the attempt counter, the newest revisions seen, the slots known, and the
/// contents of the last backup. During a rekey it also holds the next vault key.
struct LocalState: Sendable {
    private let directory: Directory
    let identity: VaultIdentity

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
        guard protection != nil else { throw .noPINSlotHere(path: path) }
    }

    /// Opens an existing state, complete or not; returns `nil` if there is none.
    init?(existingIn stateDirectory: String, identity: VaultIdentity) throws(VaultError) {
        let path = stateDirectory + "/" + identity.name
        do {
            directory = try Directory.open(path: path)
        } catch .absent {
            return nil
        } catch {
            throw .damaged("\(path) can't be opened: \(error.reason)")
        }
        self.identity = identity
    }

    /// Opens or creates a state, which may be incomplete, to set a PIN on this device.
    ///
    /// An existing device ID is kept, because records contain it.
    init(joining stateDirectory: String, identity: VaultIdentity) throws(VaultError) {
        self.identity = identity
        directory = try accessing(stateDirectory) { () throws(FileError) in
            try Directory.make(path: stateDirectory).makeSubdirectory(identity.name)
        }
        try VaultDirectory.checkPermissions(of: directory)
    }

    /// Returns the device of this state; creates a new one if there is none or it cannot be read.
    func deviceOrNew() throws(VaultError) -> Device {
        if let device = try? device() { return device }
        let device = Device()
        try write(Device.fileName, device.bytes)
        return device
    }

    /// True if there is a record of seen revisions.
    var hasSeenRevisions: Bool { directory.contains(SeenRevisions.fileName) }

    /// Creates the state of a new vault, complete except for the PIN slot and the seen revisions.
    init(creatingIn stateDirectory: String, identity: VaultIdentity, device: Device) throws(VaultError) {
        self.identity = identity
        directory = try accessing(stateDirectory) { () throws(FileError) in
            let directory = try Directory.make(path: stateDirectory).makeSubdirectory(identity.name)
            try directory.write(Device.fileName, device.bytes, replacing: false)
            try directory.write(AttemptCounter.fileName, AttemptCounter().bytes, replacing: false)
            return directory
        }
    }

    /// Runs `body` while no other process can change the state.
    func withLock<Value>(_ body: () throws(VaultError) -> Value) throws(VaultError) -> Value {
        let lock = try accessing(directory.path) { () throws(FileError) in
            try StateLock(directory: directory.path, name: "lock")
        }
        guard let lock else { throw .busy }
        let value = try body()
        _ = consume lock
        return value
    }

    /// Protection of the PIN; `nil` if the vault has no PIN on this device.
    var protection: PINProtection? {
        switch (directory.contains(PINSlot.fileName), directory.contains(TPMSlot.fileName)) {
        case (true, false): .deviceSecret
        case (false, true): .tpm
        case (true, true): .interrupted
        case (false, false): nil
        }
    }

    /// Returns the slot of this device, which must belong to this vault.
    ///
    /// If both exist, because a change was interrupted, the one without the TPM is used: it opens in any case.
    func slot() throws(VaultError) -> DeviceSlot {
        let isOfTPM = protection == .tpm
        let name = isOfTPM ? TPMSlot.fileName : PINSlot.fileName
        let slot: DeviceSlot =
            isOfTPM
            ? .tpm(try read(name, limit: TPMSlot.maximumLength, TPMSlot.init(bytes:)))
            : .pin(try read(name, limit: PINSlot.length, PINSlot.init(bytes:)))
        guard slot.header.identity == identity else {
            throw .damaged("\(VaultIdentity.fileName) and \(file(name)) belong to different vaults")
        }
        return slot
    }

    /// Returns this device.
    func device() throws(VaultError) -> Device {
        try read(Device.fileName, limit: Device.length, Device.init(bytes:))
    }

    /// Returns the attempt counter.
    func attempts() throws(VaultError) -> AttemptCounter {
        try read(AttemptCounter.fileName, limit: AttemptCounter.length, AttemptCounter.init(bytes:))
    }

    /// Returns the newest revisions seen, which are sealed under the previous key after an interrupted rekey.
    func seen(_ ring: VaultKeyRing) throws(VaultError) -> SeenRevisions {
        try read(SeenRevisions.fileName, limit: SeenRevisions.maximumLength) { bytes in
            for key in ring.keys {
                if let seen = SeenRevisions(bytes: bytes, key: key, identity: identity) { return seen }
            }
            return nil
        }
    }

    /// Returns the contents of the last backup; `nil` if there is none or they cannot be read.
    func lastBackup(_ key: SymmetricKey) -> LastBackup? {
        try? read(LastBackup.fileName, limit: SeenRevisions.maximumLength) {
            LastBackup(bytes: $0, key: key, identity: identity)
        }
    }

    /// Time of the last backup in seconds since 1970, according to its file; not authenticated.
    var timeOfLastBackup: UInt64? {
        try? read(LastBackup.fileName, limit: SeenRevisions.maximumLength, LastBackup.time(in:))
    }

    /// Stores the contents of a backup.
    func write(_ backup: LastBackup, key: SymmetricKey) throws(VaultError) {
        try write(LastBackup.fileName, sealed: try? backup.bytes(key: key, identity: identity))
    }

    /// True if a rekey has begun but not finished.
    var isRekeying: Bool { directory.contains(PendingVaultKey.fileName) }

    /// Returns the old and the new key of a rekey in progress; `nil` if there is none.
    func pendingKey(
        _ ring: VaultKeyRing
    ) throws(VaultError) -> (old: SymmetricKey, new: SymmetricKey, isCommitted: Bool)? {
        guard isRekeying else { return nil }
        return try read(PendingVaultKey.fileName, limit: PendingVaultKey.length) {
            PendingVaultKey.read($0, ring: ring, identity: identity)
        }
    }

    /// Stores the next key, sealed under the current one.
    ///
    /// Once it is committed, the next key becomes the current one.
    func write(next new: SymmetricKey, under old: SymmetricKey, isCommitted: Bool) throws(VaultError) {
        let bytes = try? PendingVaultKey.bytes(new, under: old, isCommitted: isCommitted, identity: identity)
        try write(PendingVaultKey.fileName, sealed: bytes)
    }

    /// Removes the pending key of a rekey that is finished or was undone.
    func forgetPendingKey() throws(VaultError) {
        try accessing(file(PendingVaultKey.fileName)) { () throws(FileError) in
            try directory.remove([PendingVaultKey.fileName])
        }
    }

    /// Returns the current key's ID, the replaced keys and the known slots; `nil` if they were not recorded yet.
    ///
    /// A damaged file counts as missing and is replaced, because nothing else could repair it. One that the disk cannot
    /// deliver now is not replaced.
    func knownSlots() throws(VaultError) -> KnownSlots? {
        let name = KnownSlots.fileName
        return try readIfPossible(file(name), try directory.read(name, limit: KnownSlots.maximumLength))
            .flatMap(KnownSlots.init(bytes:))
    }

    /// Replaces the current key's ID, the replaced keys and the known slots.
    func write(_ known: KnownSlots) throws(VaultError) { try write(KnownSlots.fileName, known.bytes) }

    /// Replaces the slot of this device, then deletes that of the other kind.
    func write(_ slot: DeviceSlot) throws(VaultError) {
        let other: String
        switch slot {
        case .pin(let slot):
            try write(PINSlot.fileName, slot.bytes)
            other = TPMSlot.fileName
        case .tpm(let slot):
            try write(TPMSlot.fileName, slot.bytes)
            other = PINSlot.fileName
        }
        guard directory.contains(other) else { return }
        try accessing(file(other)) { () throws(FileError) in try directory.remove([other]) }
    }

    /// Replaces the attempt counter.
    func write(_ attempts: AttemptCounter) throws(VaultError) { try write(AttemptCounter.fileName, attempts.bytes) }

    /// Replaces the record of seen revisions.
    func write(_ seen: SeenRevisions, key: SymmetricKey) throws(VaultError) {
        try write(SeenRevisions.fileName, sealed: try? seen.bytes(key: key, identity: identity))
    }

    /// True if the user allowed fingerprints on this device.
    var allowsFingerprint: Bool { directory.contains(EnrolledFingers.fileName) }

    /// Returns the fingers for which the user allowed fingerprints; `nil` if the user did not.
    func enrolledFingers(_ ring: VaultKeyRing) throws(VaultError) -> EnrolledFingers? {
        guard allowsFingerprint else { return nil }
        return try read(EnrolledFingers.fileName, limit: EnrolledFingers.maximumLength) { bytes in
            ring.keys.lazy.compactMap { EnrolledFingers(bytes: bytes, key: $0, identity: identity) }.first
        }
    }

    /// Replaces the record of enrolled fingers.
    func write(_ fingers: EnrolledFingers, key: SymmetricKey) throws(VaultError) {
        try write(EnrolledFingers.fileName, sealed: try? fingers.bytes(key: key, identity: identity))
    }

    /// Removes the record of enrolled fingers; a missing one is not an error.
    func forgetEnrolledFingers() throws(VaultError) {
        guard allowsFingerprint else { return }
        try accessing(file(EnrolledFingers.fileName)) { () throws(FileError) in
            try directory.remove([EnrolledFingers.fileName])
        }
    }

    /// Returns the secrets of this device's requests.
    func requests(_ ring: VaultKeyRing) throws(VaultError) -> RequestKeys {
        guard directory.contains(RequestKeys.fileName) else { return RequestKeys() }
        return try read(RequestKeys.fileName, limit: RequestKeys.maximumLength) { bytes in
            ring.keys.lazy.compactMap { RequestKeys(bytes: bytes, key: $0, identity: identity) }.first
        }
    }

    /// Replaces the secrets of this device's requests.
    func write(_ requests: RequestKeys, key: SymmetricKey) throws(VaultError) {
        try write(RequestKeys.fileName, sealed: try? requests.bytes(key: key, identity: identity))
    }

    private func file(_ name: String) -> String { directory.path + "/" + name }

    /// Reads and parses a file; a file that `parse` rejects is reported as damaged.
    private func read<Value>(_ name: String, limit: Int, _ parse: ([UInt8]) -> Value?) throws(VaultError) -> Value {
        let bytes = try accessing("\(file(name)) can't be read", orThrow: VaultError.damaged) { () throws(FileError) in
            try directory.read(name, limit: limit)
        }
        guard let value = parse(bytes) else { throw .damaged(file(name)) }
        return value
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws(VaultError) {
        try accessing(file(name)) { () throws(FileError) in try directory.write(name, bytes, replacing: true) }
    }

    private func write(_ name: String, sealed bytes: [UInt8]?) throws(VaultError) {
        guard let bytes else { throw .cannotWrite("\(file(name)) could not be sealed") }
        try write(name, bytes)
    }
}
