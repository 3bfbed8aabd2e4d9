// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

extension UnlockedVault {
    /// Writes the whole vault to one new file, which opens with the vault's passphrase or recovery code.
    ///
    /// The file has mode 0600.
    ///
    /// - Returns: The fingerprint of the key, which the user compares when restoring the backup.
    /// - Throws: ``VaultError``; ``VaultError/noPortableSlot`` if the vault has neither.
    @discardableResult
    package func backUp(to path: String) async throws(VaultError) -> VaultKeyFingerprint {
        let fingerprint = try await perform { key, files throws(VaultError) in
            try files.backUp(to: path, key: key)
            return VaultKeyFingerprint(of: VaultKeyID(of: key, identity: files.identity), identity: files.identity)
        }
        setBackedUp(true)
        return fingerprint
    }

    /// Adds the files of a backup that the vault lacks; nothing is overwritten, and deleted records stay deleted.
    ///
    /// If the vault was rolled back, its state after the merge is accepted, because the user chose the backup. Files
    /// under a replaced key that are in the vault but not in the backup are not accepted.
    ///
    /// - Parameters:
    ///   - backup: The opened backup.
    ///   - expected: The difference from ``difference(merging:)`` that was shown to the user. If the current difference
    ///     is another one, nothing is accepted. `nil` accepts any difference.
    /// - Returns: The number of added files.
    /// - Throws: ``VaultError``; ``VaultError/backupOfAnotherVault(path:)``, ``VaultError/changedMeanwhile``.
    @discardableResult
    package func merge(
        _ backup: VaultBackup,
        expecting expected: VaultDifference? = nil
    ) async throws(VaultError) -> Int {
        try await perform { key, files throws(VaultError) in try files.merge(backup, key: key, expecting: expected) }
    }

    /// Returns the difference that ``merge(_:expecting:)`` would accept; nothing is written.
    ///
    /// - Throws: ``VaultError``; ``VaultError/backupOfAnotherVault(path:)``.
    package func difference(merging backup: VaultBackup) async throws(VaultError) -> VaultDifference {
        try await perform { key, files throws(VaultError) in try files.difference(merging: backup, key: key) }
    }
}

extension VaultFiles {
    /// Writes the whole vault to one new file with mode 0600, and records the contents of the backup.
    func backUp(to path: String, key: SymmetricKey) throws(VaultError) {
        let records = try records(key: key)
        let slots = try PortableSlots(in: directory, identity: identity)
        let authentic = slots.authentic(key)
        guard !authentic.isEmpty else { throw .noPortableSlot }
        guard authentic.count <= PortableSlots.maximumCount else {
            throw .tooLarge("it has more than \(PortableSlots.maximumCount) slots; replace some")
        }
        var entries: [BackupFile.Entry] = []
        for (id, record) in records.all.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
            let path = "\(VaultDirectory.recordsName)/\(id)/"
            entries.append(.init(path: path + record.current.revision.fileName, content: record.current.bytes))
        }
        entries += authentic.map { .init(path: "\(VaultDirectory.slotsName)/\($0.fileName)", content: $0.bytes) }
        let size = entries.reduce(0) { $0 + Self.size($1) }
        guard size < Self.maximumContents else { throw Self.tooLarge }
        entries += try linksAndHistories(key, limit: Self.maximumContents - size)
        guard let bytes = try? BackupFile.seal(entries, slots: authentic, key: key, identity: identity) else {
            throw .cannotWrite("the backup could not be sealed")
        }
        try write(bytes, to: path)
        var contents = SeenRevisions()
        records.add(to: &contents)
        // The backup is complete. If this fails, the passkeys are merely not reported as backed up.
        try? state.write(LastBackup(time: location.clock.now(), contents: contents), key: key)
    }

    private static let maximumContents = BackupFile.maximumLength - 64 * 1024
    private static let tooLarge = VaultError.tooLarge("a backup holds 256 MiB; remove files in uses/")

    private static func size(_ entry: BackupFile.Entry) -> Int { entry.path.utf8.count + entry.content.count + 6 }

    /// Returns all well-formed links between keys and usage histories, up to the limits for reading them.
    ///
    /// A file that cannot be read because of a system error is reported as damage, because a backup must not silently
    /// lack it.
    private func linksAndHistories(_ key: SymmetricKey, limit: Int) throws(VaultError) -> [BackupFile.Entry] {
        var entries: [BackupFile.Entry] = []
        var rest = limit
        // Links of the current key come first if there are too many files.
        let own = Hex.encode(VaultKeyID(of: key, identity: identity).bytes)
        func collect(
            _ directory: Directory,
            _ path: String,
            names limit: Int,
            length: Int,
            _ isWanted: ([UInt8]) -> Bool
        ) throws(VaultError) {
            for name in try readIfPossible(path, try directory.names(upTo: limit) { $0.contains(own) })?.names ?? [] {
                let path = "\(path)/\(name)"
                guard VaultPath(path) != nil,
                    let content = try readIfPossible(path, try directory.read(name, limit: length)),
                    isWanted(content)
                else { continue }
                let entry = BackupFile.Entry(path: path, content: content)
                rest -= Self.size(entry)
                // Checked after each file: a hostile server may have added more than fits into memory.
                guard rest > 0 else { throw Self.tooLarge }
                entries.append(entry)
            }
        }
        let (keys, uses) = (VaultDirectory.keysName, VaultDirectory.usesName)
        if let links = try readIfPossible(keys, try directory.subdirectory(keys)) {
            try collect(links, keys, names: 1000, length: KeyLink.length) { KeyLink(bytes: $0) != nil }
        }
        guard let histories = try readIfPossible(uses, try directory.subdirectory(uses)) else { return entries }
        for device in try readIfPossible(uses, try histories.names(upTo: Self.maximumDevices))?.names ?? [] {
            let path = "\(uses)/\(device)"
            guard let history = try readIfPossible(path, try histories.subdirectory(device)) else { continue }
            try collect(history, path, names: Self.maximumSegments, length: UsageHistoryFile.maximumLength) {
                UsageHistoryFile(bytes: $0) != nil
            }
        }
        return entries
    }

    private func write(_ bytes: [UInt8], to path: String) throws(VaultError) {
        let (folder, name) = try VaultBackup.split(path)
        let directory = try accessing(folder, orThrow: VaultError.cannotWriteBackup) { () throws(FileError) in
            try Directory.open(path: folder)
        }
        do throws(FileError) {
            try directory.write(name, bytes, replacing: false)
        } catch .exists {
            throw .fileExists(path: path)
        } catch {
            throw .cannotWriteBackup("\(path): \(error.reason)")
        }
    }

    /// Adds the files of a backup that the vault lacks, and accepts the result.
    ///
    /// - Parameters:
    ///   - backup: The opened backup.
    ///   - key: The vault key.
    ///   - expected: The only difference to accept; `nil` accepts any.
    /// - Returns: The number of added files.
    func merge(
        _ backup: VaultBackup,
        key: SymmetricKey,
        expecting expected: VaultDifference?
    ) throws(VaultError) -> Int {
        let (ring, entries) = try open(backup, key: key)
        let difference = try difference(merging: entries, ring)
        guard expected == nil || expected == difference else { throw .changedMeanwhile }
        // Slots of a replaced key are not restored: the rekey was meant to revoke their secrets.
        let current = backup.file.keyID == VaultKeyID(of: ring.newest, identity: identity)
        let slots = "\(VaultDirectory.slotsName)/"
        let wanted = current ? entries : entries.filter { !$0.path.hasPrefix(slots) }
        let added = try VaultBackup.addFiles(wanted, to: directory, strict: false)
        // Checked again, because the lock does not stop sync tools.
        let policy = VaultBackup.trusting(entries, whileRekeying: state.isRekeying)
        _ = try accept(key: key, policy: policy, expecting: expected)
        return added
    }

    /// Returns the difference that merging a backup would accept; nothing is written.
    func difference(merging backup: VaultBackup, key: SymmetricKey) throws(VaultError) -> VaultDifference {
        let (ring, entries) = try open(backup, key: key)
        return try difference(merging: entries, ring)
    }

    private func open(_ backup: VaultBackup, key: SymmetricKey) throws(VaultError) -> (VaultKeyRing, [BackupFile.Entry])
    {
        guard backup.file.identity == identity else { throw .backupOfAnotherVault(path: directory.path) }
        let ring = try ring(key)
        return (ring, try backup.entries(ring))
    }

    private func difference(
        merging entries: [BackupFile.Entry],
        _ ring: VaultKeyRing
    ) throws(VaultError) -> VaultDifference {
        let policy = VaultBackup.trusting(entries, whileRekeying: state.isRekeying)
        let seen = state.hasSeenRevisions ? try state.seen(ring) : SeenRevisions()
        var records = try VaultRecords(in: directory, ring: ring, identity: identity, seen: seen, policy: policy)
        records.add(entries)
        return difference(records, seen, ring)
    }
}
