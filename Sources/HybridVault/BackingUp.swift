// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

extension VaultFiles {
    /// Writes the whole vault to one new file, 0600, and remembers what is in it.
    func backUp(to path: String, key: SymmetricKey) throws(VaultError) {
        try state.locked { () throws(VaultError) in
            let records = try records(key: key)
            let slots = try Slots(in: directory, identity: identity)
            let genuine = slots.genuine(.passphrase, key) + slots.genuine(.recoveryCode, key)
            guard !genuine.isEmpty else { throw .noPortableSlot }
            var entries: [BackupFile.Entry] = []
            for (id, record) in records.all.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
                let path = "\(VaultDirectory.recordsName)/\(id)/"
                entries.append(.init(path: path + record.current.revision.fileName, content: record.current.bytes))
            }
            entries += genuine.map { .init(path: "\(VaultDirectory.slotsName)/\($0.fileName)", content: $0.bytes) }
            let size = entries.reduce(0) { $0 + Self.size($1) }
            guard size < Self.maximumContents else { throw Self.tooLarge }
            entries += try others(limit: Self.maximumContents - size)
            guard let bytes = try? BackupFile.seal(entries, slots: genuine, key: key, identity: identity) else {
                throw .cannotWrite("the backup could not be sealed")
            }
            try write(bytes, to: path)
            var contents = SeenRevisions()
            for (id, record) in records.all {
                contents.note(id, newest: record.newest, isDeleted: record.isDeleted)
            }
            // The backup is there; if this can't be remembered, sites are only told too little.
            try? state.write(LastBackup(time: clock.now(), contents: contents), key: key)
        }
    }

    private static let maximumContents = BackupFile.maximumLength - 64 * 1024
    private static let tooLarge = VaultError.tooLarge("a backup holds 256 MiB; remove files in uses/")

    private static func size(_ entry: BackupFile.Entry) -> Int { entry.path.utf8.count + entry.content.count + 6 }

    /// Links between keys and histories, as they are: whatever has their form, never more than is read elsewhere.
    private func others(limit: Int) throws(VaultError) -> [BackupFile.Entry] {
        var entries: [BackupFile.Entry] = []
        var rest = limit
        func collect(
            _ directory: Directory,
            _ path: String,
            names limit: Int,
            length: Int,
            _ isWanted: ([UInt8]) -> Bool
        ) throws(VaultError) {
            for name in try Self.unlessBroken(path, try directory.names(limit: limit)) ?? [] {
                let path = "\(path)/\(name)"
                guard VaultPath(path) != nil,
                    let content = try Self.unlessBroken(path, try directory.read(name, limit: length)),
                    isWanted(content)
                else { continue }
                let entry = BackupFile.Entry(path: path, content: content)
                rest -= Self.size(entry)
                // Told at once: a server may have put more there than there is memory.
                guard rest > 0 else { throw Self.tooLarge }
                entries.append(entry)
            }
        }
        let (keys, uses) = (VaultDirectory.keysName, VaultDirectory.usesName)
        if let links = try Self.unlessBroken(keys, try directory.subdirectory(keys)) {
            try collect(links, keys, names: 1000, length: KeyLink.length) { KeyLink(bytes: $0) != nil }
        }
        guard let histories = try Self.unlessBroken(uses, try directory.subdirectory(uses)) else { return entries }
        for device in try Self.unlessBroken(uses, try histories.names(limit: Self.maximumDevices)) ?? [] {
            let path = "\(uses)/\(device)"
            guard let history = try Self.unlessBroken(path, try histories.subdirectory(device)) else { continue }
            try collect(history, path, names: Self.maximumSegments, length: UsageHistoryFile.maximumLength) {
                UsageHistoryFile(bytes: $0) != nil
            }
        }
        return entries
    }

    /// What is not there or not as we write it is left out; what the disk refuses must not be missing in a backup.
    private static func unlessBroken<Value>(
        _ path: String,
        _ value: @autoclosure () throws(FileFailure) -> Value
    ) throws(VaultError) -> Value? {
        do throws(FileFailure) {
            return try value()
        } catch {
            guard case .system = error else { return nil }
            throw .damaged("\(path) can't be read: \(error.words)")
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(VaultError) {
        let (folder, name) = try VaultBackup.split(path)
        let directory: Directory
        do {
            directory = try Directory.open(path: folder)
        } catch {
            throw .cannotWriteBackup("\(folder): \(error.words)")
        }
        do {
            try directory.write(name, bytes, replacing: false)
        } catch .exists {
            throw .fileExists(path: path)
        } catch {
            throw .cannotWriteBackup("\(path): \(error.words)")
        }
    }

    /// Adds what a backup of this vault has and the vault lacks.
    ///
    /// - Parameter expected: How the vault may differ then from what this device remembers; `nil` takes anything.
    /// - Returns: How many files were added.
    func unite(
        with backup: VaultBackup,
        key: SymmetricKey,
        expecting expected: VaultDifference?
    ) throws(VaultError) -> Int {
        try state.locked { () throws(VaultError) in
            let (ring, entries) = try opened(backup, key: key)
            let difference = try difference(uniting: entries, ring)
            guard expected == nil || expected == difference else { throw .changedMeanwhile }
            // Slots of a replaced key stay away: whoever knows their secrets was to be shut out.
            let current = backup.file.keyID == KeyID(of: ring.newest, identity: identity)
            let slots = "\(VaultDirectory.slotsName)/"
            let wanted = current ? entries : entries.filter { !$0.path.hasPrefix(slots) }
            let added = try VaultBackup.put(wanted, in: directory, strict: false)
            // Once more, because the lock keeps no sync tool away.
            let counting = VaultBackup.chosen(entries, whileRekeying: state.isRekeying)
            _ = try acceptLocked(key: key, counting: counting, expecting: expected)
            return added
        }
    }

    /// How the vault will differ from what this device remembers once a backup is added; nothing is written.
    func difference(uniting backup: VaultBackup, key: SymmetricKey) throws(VaultError) -> VaultDifference {
        try state.locked { () throws(VaultError) in
            let (ring, entries) = try opened(backup, key: key)
            return try difference(uniting: entries, ring)
        }
    }

    private func opened(
        _ backup: VaultBackup,
        key: SymmetricKey
    ) throws(VaultError) -> (KeyRing, [BackupFile.Entry]) {
        guard backup.file.identity == identity else { throw .backupOfAnotherVault(path: directory.path) }
        let ring = try ring(key)
        return (ring, try backup.entries(ring))
    }

    private func difference(
        uniting entries: [BackupFile.Entry],
        _ ring: KeyRing
    ) throws(VaultError) -> VaultDifference {
        let counting = VaultBackup.chosen(entries, whileRekeying: state.isRekeying)
        var records = try Records(in: directory, ring: ring, identity: identity, counting: counting)
        records.add(entries)
        return difference(records, state.hasSeen ? try state.seen(ring) : SeenRevisions(), ring)
    }
}

extension UnlockedVault {
    /// Writes the whole vault to one new file, 0600, which opens with the vault's passphrase or recovery code.
    ///
    /// - Throws: ``VaultError``; ``VaultError/noPortableSlot`` when there is neither.
    public func backUp(to path: String) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in try files.backUp(to: path, key: key) }
        noteBackup()
    }

    /// Adds what a backup of this vault has and the vault lacks; nothing is overwritten, and what was deleted stays
    /// deleted.
    ///
    /// It is a person's word too that a rolled-back vault is to be used as it is then. What is in the vault under a
    /// replaced key, and not in the backup, does not count by it.
    ///
    /// - Parameter expected: What the person was shown, from ``difference(unitedWith:)``; if the vault would differ
    ///   otherwise by now, nothing is accepted. `nil` takes whatever there is.
    /// - Returns: How many files were added.
    /// - Throws: ``VaultError``; ``VaultError/backupOfAnotherVault(path:)``, ``VaultError/changedMeanwhile``.
    @discardableResult
    public func unite(
        with backup: VaultBackup,
        expecting expected: VaultDifference? = nil
    ) async throws(VaultError) -> Int {
        try await perform { key, files throws(VaultError) in
            try files.unite(with: backup, key: key, expecting: expected)
        }
    }

    /// How the vault would differ from what this device remembers with what a backup of it has; nothing is written.
    ///
    /// - Throws: ``VaultError``; ``VaultError/backupOfAnotherVault(path:)``.
    public func difference(unitedWith backup: VaultBackup) async throws(VaultError) -> VaultDifference {
        try await perform { key, files throws(VaultError) in try files.difference(uniting: backup, key: key) }
    }
}
