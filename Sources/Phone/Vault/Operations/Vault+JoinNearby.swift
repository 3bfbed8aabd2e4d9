// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
internal import HybridPrimitives
internal import HybridThreads

extension UnlockedVault {
    /// Returns everything with which another device becomes a device of this vault.
    ///
    /// - Throws: ``VaultError``; ``VaultError/locked`` or ``VaultError/rekeyedElsewhere`` if the key is not the current
    ///   one.
    package func keyMaterial() async throws(VaultError) -> VaultKeyMaterial {
        try await perform { key, files throws(VaultError) in
            try files.checkKeyIsCurrent(key)
            _ = try files.records(key: key)
            return VaultKeyMaterial(
                identity: files.identity,
                key: key,
                seen: try files.state.seen(VaultKeyRing(key))
            )
        }
    }
}

/// The progress of a file sync that brings the files of a vault to a new device.
package enum VaultArrival: Equatable, Sendable {
    /// This many records of the other device have arrived here.
    case records(arrived: Int, of: Int)
    /// Every record has arrived, in the revision that the other device has seen or a later one.
    case complete
}

extension Vault {
    /// Fingerprint of the vault key, which needs no PIN; `nil` if it is not known before the vault is opened.
    package var knownFingerprint: VaultKeyFingerprint? {
        let known = try? files.state.knownSlots()
        return known.map { VaultKeyFingerprint(of: $0.current, identity: files.identity) }
    }

    /// Checks that this device can become a device of a vault that another one hands over.
    ///
    /// - Returns: True if the files of a vault are there already.
    /// - Throws: ``VaultError/hasPINHere(path:)`` if this device has a PIN for the vault there, ``VaultError/missing(path:)``
    ///   if it has one and the files have not arrived, or another error if the place cannot hold a vault.
    package static func checkJoin(at location: VaultLocation) throws(VaultError) -> Bool {
        do throws(VaultError) {
            guard try !status(at: location).hasPIN else { throw .hasPINHere(path: location.directory) }
            return true
        } catch {
            switch error {
            case .doesNotExist, .incomplete: return false
            case .missing where !hasPIN(forKnownVaultAt: location): return false
            default: throw error
            }
        }
    }

    /// True if this device has a PIN for the vault that it knows at a place, whether or not the files are there.
    private static func hasPIN(forKnownVaultAt location: VaultLocation) -> Bool {
        let known = KnownPaths(stateDirectory: location.stateDirectory).vault(at: location.directory)
        guard let id = known.flatMap({ Hex.decode($0, length: 16, lowercaseOnly: true) }) else { return false }
        let identity = VaultIdentity(id: id, isTest: false)
        return (try? LocalState(stateDirectory: location.stateDirectory, identity: identity)) != nil
    }

    /// Sets a PIN on this device with the key that another device has handed over.
    ///
    /// The files of the vault need not be there yet: a file sync brings them later, and then the vault opens. From the
    /// other device's record of seen revisions, this device detects if the server withholds or replaces any.
    ///
    /// - Parameters:
    ///   - material: The key, and what the vault's records must be.
    ///   - location: Paths of the vault and of the local state; a missing directory is created.
    ///   - pin: The new PIN, at least four characters long.
    /// - Throws: ``VaultError``. After a failure the vault has no PIN here.
    package static func join(
        with material: VaultKeyMaterial,
        at location: VaultLocation,
        pin: PIN
    ) async throws(VaultError) {
        try await DedicatedThread.run { () throws(VaultError) in
            try joinNow(with: material, at: location, pin: pin)
        }
    }

    /// Sets a PIN on this device; blocks.
    static func joinNow(
        with material: VaultKeyMaterial,
        at location: VaultLocation,
        pin: PIN
    ) throws(VaultError) {
        guard pin.isLongEnough else { throw .pinTooShort }
        let (identity, key, path) = (material.identity, material.key, location.directory)
        let directory = try VaultDirectory.make(path: path)
        if try checkJoin(at: location) {
            guard try VaultDirectory.open(location).1 == identity else { throw .anotherVault(path: path) }
        }
        let statePath = location.stateDirectory
        let state = try LocalState(joining: statePath, identity: identity)
        try state.withLock { () throws(VaultError) in
            let files = VaultFiles(directory: directory, identity: identity, state: state, location: location)
            let ring = try files.ring(key)
            // The revisions that this device has seen before still hold.
            var seen = (try? state.seen(ring)) ?? SeenRevisions()
            for (id, entry) in material.seen.entries {
                seen.insert(id, newest: entry.newest, isDeleted: entry.isDeleted)
            }
            try state.write(seen, key: key)
            try state.remember(ring, slots: try PortableSlots(in: directory, identity: identity).all)
            let device = try state.deviceOrNew()
            let scrypt = location.scrypt(of: identity)
            let slot = try PINSlot(wrapping: key, pin: pin, identity: identity, device: device, scrypt: scrypt)
            try state.write(AttemptCounter())
            try accessing(statePath) { () throws(FileError) in
                try KnownPaths(stateDirectory: statePath).remember(identity, at: path)
            }
            // Last: with the slot, the vault has a PIN here.
            try state.write(.pin(slot))
        }
    }

    /// Returns how much of a joined vault a file sync has brought here.
    ///
    /// - Throws: ``VaultError``, such as ``VaultError/damaged(_:)``.
    package static func arrival(
        of material: VaultKeyMaterial,
        at location: VaultLocation
    ) async throws(VaultError) -> VaultArrival {
        try await DedicatedThread.run { () throws(VaultError) in
            let total = material.seen.entries.count
            let directory: Directory
            let identity: VaultIdentity
            do throws(VaultError) {
                (directory, identity) = try VaultDirectory.open(location)
            } catch {
                switch error {
                // The sync may bring vault.json last.
                case .doesNotExist, .missing, .incomplete: return .records(arrived: 0, of: total)
                default: throw error
                }
            }
            guard identity == material.identity else { throw .anotherVault(path: location.directory) }
            let ring = try VaultKeyRing(material.key, in: directory, identity: identity)
            let records = try VaultRecords(in: directory, ring: ring, identity: identity, seen: material.seen)
            let arrived = material.seen.entries.count { id, entry in
                guard let record = records.all[id] else { return false }
                return record.newest >= entry.newest && (record.isDeleted || !entry.isDeleted)
            }
            return arrived == total ? .complete : .records(arrived: arrived, of: total)
        }
    }
}
