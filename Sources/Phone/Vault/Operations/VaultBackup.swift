// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
internal import HybridPrimitives
internal import HybridThreads

/// A backup that was read from a file: the whole vault, still sealed.
///
/// It contains the current revision of every record, the usage histories, the links between keys and the slots. It does
/// not open with a PIN, because a PIN belongs to a device.
package struct VaultBackup: Sendable {
    let file: BackupFile

    /// Reads a backup.
    ///
    /// - Throws: ``VaultError/backupUnreadable(_:)`` or ``VaultError/backupDamaged(_:)``.
    package static func read(_ path: String) async throws(VaultError) -> VaultBackup {
        try await DedicatedThread.run { () throws(VaultError) in
            let (folder, name) = try split(path)
            let bytes = try accessing(path, orThrow: VaultError.backupUnreadable) { () throws(FileError) in
                try Directory.open(path: folder).read(name, limit: BackupFile.maximumLength)
            }
            guard let file = BackupFile(bytes: bytes) else { throw .backupDamaged("its beginning") }
            return VaultBackup(file: file)
        }
    }

    /// Splits a path into its folder and the name in it.
    static func split(_ path: String) throws(VaultError) -> (folder: String, name: String) {
        guard let parts = AbsolutePath.split(path) else { throw .backupUnreadable("\(path) is a directory") }
        return parts
    }

    /// Returns true if the vault at a location is the one in the backup, and `nil` if there is no vault.
    ///
    /// - Throws: ``VaultError`` if the directory holds something else.
    package func isOfVault(at location: VaultLocation) throws(VaultError) -> Bool? {
        do throws(VaultError) {
            return try VaultDirectory.open(location).1 == file.identity
        } catch {
            switch error {
            case .doesNotExist, .missing, .incomplete: return nil
            default: throw error
            }
        }
    }

    /// Restores the vault to a location that has none, with a new PIN for this device.
    ///
    /// - Parameters:
    ///   - location: The location of the restored vault.
    ///   - secret: A passphrase or recovery code of the vault.
    ///   - pin: The new PIN of this device.
    ///   - compared: The fingerprint that the user has compared; see
    ///     ``Vault/join(at:secret:pin:comparedAs:resettingRollbackState:)``.
    ///   - resettingRollbackState: True if the user agreed to replace an unreadable record of seen revisions. Such a
    ///     record may be sealed under a key that is newer than the backup.
    /// - Throws: ``VaultError``; ``VaultError/rollbackStateUnreadable(path:)``. Files that were written before the
    ///   failure are harmless, and a second call continues.
    package func restore(
        to location: VaultLocation,
        secret: PortableSecret,
        pin: PIN,
        comparedAs compared: VaultKeyFingerprint? = nil,
        resettingRollbackState: Bool = false
    ) async throws(VaultError) -> Vault {
        guard pin.isLongEnough else { throw .pinTooShort }
        guard try isOfVault(at: location) == nil else { throw .alreadyExists(path: location.directory) }
        return try await DedicatedThread.run { () throws(VaultError) in
            let (key, opened) = try file.slots.unwrapKey(with: secret)
            try LocalState.checkIsKnown(
                key,
                openedWith: secret,
                comparedAs: compared,
                isRestoring: true,
                at: location,
                identity: file.identity
            )
            let entries = try entries(key)
            let path = location.directory
            let directory = try VaultDirectory.make(path: path)
            // vault.json is written last: without it, the directory is not a vault.
            try Self.addFiles(entries, to: directory, strict: true)
            let (identity, slots, reset) = (file.identity, file.slots, resettingRollbackState)
            let vault = try Vault.join(
                directory,
                identity,
                location,
                key: key,
                opened: opened,
                slots: slots,
                pin: pin,
                resetting: reset,
                isRestoring: true
            )
            // This device may have seen newer revisions than those of the backup, which the user has chosen. Files
            // that a server added under an older key were not chosen.
            try vault.files.state.withLock { () throws(VaultError) in
                _ = try vault.files.accept(key: key, policy: Self.trusting(entries, whileRekeying: false))
            }
            try accessing(path) { () throws(FileError) in
                try directory.write(VaultIdentity.fileName, Array(identity.text.utf8), replacing: false)
            }
            return vault
        }
    }

    /// Adds missing files to a vault directory.
    ///
    /// - Parameters:
    ///   - entries: The files of the backup.
    ///   - vault: The vault directory.
    ///   - strict: True to throw an error if an existing file differs. Otherwise both are kept, as sync tools do.
    /// - Returns: The number of added files.
    @discardableResult
    static func addFiles(_ entries: [BackupFile.Entry], to vault: Directory, strict: Bool) throws(VaultError) -> Int {
        var added = 0
        for entry in entries {
            guard let parts = VaultPath(entry.path) else { throw .backupDamaged("a name in it") }
            do throws(FileError) {
                var (directory, name) = (vault, parts.name)
                for folder in parts.folders { directory = try directory.makeSubdirectory(folder) }
                if directory.contains(name) {
                    let present = try? directory.read(name, limit: RecordFile.maximumLength)
                    if present == entry.content { continue }
                    // A usage history that was extended since then contains all entries of the one in the backup.
                    if parts.folders.first == VaultDirectory.usesName, present?.starts(with: entry.content) == true {
                        continue
                    }
                    guard !strict else { throw .exists }
                    // The name depends on the content, so a second call adds nothing.
                    name += ".restored-" + Hex.encode(Sealing.checksum(entry.content).prefix(8))
                    guard !directory.contains(name) else { continue }
                }
                try directory.write(name, entry.content, replacing: false)
                added += 1
            } catch {
                throw .cannotWrite("\(vault.path)/\(entry.path): \(error.reason)")
            }
        }
        return added
    }

    /// Returns the policy that trusts the files of a backup, because the user chose it.
    static func trusting(_ entries: [BackupFile.Entry], whileRekeying: Bool) -> VaultRecords.KeyPolicy {
        .chosen(Set(entries.map { Sealing.checksum($0.content) }), whileRekeying: whileRekeying)
    }

    /// Returns the files in the backup of a vault whose keys are known; one of the older keys may have sealed it.
    func entries(_ ring: VaultKeyRing) throws(VaultError) -> [BackupFile.Entry] {
        let key = ring.keys.first { VaultKeyID(of: $0, identity: file.identity) == file.keyID }
        guard let key else { throw .rekeyedElsewhere }
        return try entries(key)
    }

    private func entries(_ key: SymmetricKey) throws(VaultError) -> [BackupFile.Entry] {
        guard let entries = file.open(key: key) else { throw .backupDamaged("its content") }
        return entries
    }
}
