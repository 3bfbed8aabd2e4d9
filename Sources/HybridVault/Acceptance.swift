// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridAuthenticator

/// How a vault differs from what this device remembers of it.
public struct VaultDifference: Equatable, Sendable {
    /// Records that were there and are missing.
    public var missing = 0
    /// Records that are older than they were.
    public var older = 0
    /// Deletions that are missing, whether their passkeys came back or not; accepting deletes them again.
    public var undeleted = 0
    /// Passkeys made or changed under a vault key that was replaced; accepting takes them over.
    public var underReplacedKey = 0
    /// Passkeys deleted under a vault key that was replaced; accepting deletes them for ever.
    public var deletedUnderReplacedKey = 0

    /// Whether there is nothing to accept.
    public var isEmpty: Bool { self == VaultDifference() }
}

extension VaultFiles {
    /// What ``accept(key:)`` would take.
    func difference(key: SymmetricKey) throws(VaultError) -> VaultDifference {
        try state.locked { () throws(VaultError) in
            let ring = try ring(key)
            let records = try Records(in: directory, ring: ring, identity: identity, counting: .allKeys)
            return difference(records, try state.seen(ring), ring)
        }
    }

    /// Takes the vault as it is.
    ///
    /// What is missing is given up, what is older counts, what was deleted stays deleted.
    ///
    /// - Returns: What was taken.
    @discardableResult
    func accept(
        key: SymmetricKey,
        counting: Records.Counting = .allKeys,
        expecting expected: VaultDifference? = nil
    ) throws(VaultError) -> VaultDifference {
        try state.locked { () throws(VaultError) in
            try acceptLocked(key: key, counting: counting, expecting: expected)
        }
    }

    /// The same for callers that hold the lock.
    func acceptLocked(
        key: SymmetricKey,
        counting: Records.Counting = .allKeys,
        expecting expected: VaultDifference? = nil
    ) throws(VaultError) -> VaultDifference {
        let ring = try ring(key)
        let records = try Records(in: directory, ring: ring, identity: identity, counting: counting)
        let before = state.hasSeen ? try state.seen(ring) : SeenRevisions()
        let difference = difference(records, before, ring)
        guard expected == nil || expected == difference else { throw .changedMeanwhile }
        var seen = SeenRevisions()
        for (id, record) in records.all { seen.note(id, newest: record.newest, isDeleted: record.isDeleted) }
        let device = try state.device().id
        var deleted: Set<RecordID> = []
        // Deletions first, so that nothing that was deleted is there for a moment if this is cut short.
        for (id, entry) in before.entries where entry.isDeleted && records.all[id]?.isDeleted != true {
            let newest = records.all[id].map { max($0.newest, entry.newest) } ?? entry.newest
            let revision = try revision(of: id, after: newest, device: device)
            let file = RecordFile(sealing: .deletion, id: id, revision: revision, key: key, identity: identity)
            guard let file else { throw .damaged("a deletion could not be sealed") }
            try place(file)
            seen.note(id, newest: revision, isDeleted: true)
            deleted.insert(id)
        }
        try reseal(records, ring, &seen, but: deleted)
        try sealUses(ring)
        try state.write(seen, key: key)
        try remove(records.files.filter { $0.isOutdated && $0.counts })
        return difference
    }

    /// How records differ from what was seen.
    func difference(_ records: Records, _ seen: SeenRevisions, _ ring: KeyRing) -> VaultDifference {
        var difference = VaultDifference()
        for (id, entry) in seen.entries {
            guard let record = records.all[id] else {
                if entry.isDeleted { difference.undeleted += 1 } else { difference.missing += 1 }
                continue
            }
            if entry.isDeleted && !record.isDeleted {
                difference.undeleted += 1
            } else if record.newest < entry.newest {
                difference.older += 1
            }
        }
        let outdated = records.all.values.filter { $0.key != ring.newest }
        difference.deletedUnderReplacedKey = outdated.count(where: \.isDeleted)
        difference.underReplacedKey = outdated.count - difference.deletedUnderReplacedKey
        return difference
    }
}

extension Vault {
    /// Tries one PIN and opens the vault without looking at its records, to ``UnlockedVault/accept()`` them.
    ///
    /// - Throws: ``UnlockFailure``, as ``open(with:)``.
    public func openForAcceptance(with pin: PIN) async throws(UnlockFailure) -> UnlockedVault {
        try await open { files throws(VaultError) in try files.unlock(with: pin, checkingRecords: false) }
    }
}

extension UnlockedVault {
    /// How the vault differs from what this device remembers.
    ///
    /// - Throws: ``VaultError``.
    public func difference() async throws(VaultError) -> VaultDifference {
        try await perform { key, files throws(VaultError) in try files.difference(key: key) }
    }

    /// Takes the vault as it is, because a person says so.
    ///
    /// What is missing is given up, what is older counts, what other devices wrote under a replaced key is sealed
    /// anew. What was deleted stays deleted.
    ///
    /// - Parameter expected: What the person was shown; if the vault differs otherwise by now, nothing is taken. `nil`
    ///   takes whatever there is.
    /// - Returns: What was taken.
    /// - Throws: ``VaultError``; ``VaultError/changedMeanwhile``.
    @discardableResult
    public func accept(expecting expected: VaultDifference? = nil) async throws(VaultError) -> VaultDifference {
        try await perform { key, files throws(VaultError) in try files.accept(key: key, expecting: expected) }
    }
}
