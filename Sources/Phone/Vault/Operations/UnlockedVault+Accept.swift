// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// Differences between a vault and the revisions that this device has seen.
package struct VaultDifference: Equatable, Sendable {
    /// Number of missing records; accepting gives them up.
    package var missing = 0
    /// Number of records that are older than this device has seen; accepting makes the older revisions current.
    package var older = 0
    /// Number of missing deletions, whether or not the passkeys reappeared; accepting deletes these again.
    package var undeleted = 0
    /// Number of passkeys created or changed under a replaced vault key; accepting seals them under the current key.
    package var underReplacedKey = 0
    /// Number of passkeys deleted under a replaced vault key; accepting deletes them permanently.
    package var deletedUnderReplacedKey = 0

    /// True if there is nothing to accept.
    package var isEmpty: Bool { self == VaultDifference() }
}

extension UnlockedVault {
    /// Returns the differences between the vault and the revisions that this device has seen.
    ///
    /// - Throws: ``VaultError``.
    package func difference() async throws(VaultError) -> VaultDifference {
        try await perform { key, files throws(VaultError) in
            let ring = try files.ring(key)
            let (seen, identity) = (try files.state.seen(ring), files.identity)
            let records = try VaultRecords(
                in: files.directory,
                ring: ring,
                identity: identity,
                seen: seen,
                policy: .allKeys
            )
            return files.difference(records, seen, ring)
        }
    }

    /// Accepts the vault as it is, after the user confirmed it.
    ///
    /// Missing records are given up, older revisions become current, and revisions that other devices wrote under a
    /// replaced key are sealed again. Deleted records stay deleted.
    ///
    /// - Parameter expected: The difference that was shown to the user. If the current difference is another one,
    ///   nothing is accepted. `nil` accepts any difference.
    /// - Returns: The accepted difference.
    /// - Throws: ``VaultError``; ``VaultError/changedMeanwhile``.
    @discardableResult
    package func accept(expecting expected: VaultDifference? = nil) async throws(VaultError) -> VaultDifference {
        try await perform { key, files throws(VaultError) in try files.accept(key: key, expecting: expected) }
    }
}

extension VaultFiles {
    /// Accepts the vault as it is.
    ///
    /// - Returns: The accepted difference.
    @discardableResult
    func accept(
        key: SymmetricKey,
        policy: VaultRecords.KeyPolicy = .allKeys,
        expecting expected: VaultDifference? = nil
    ) throws(VaultError) -> VaultDifference {
        let ring = try ring(key)
        let before = state.hasSeenRevisions ? try state.seen(ring) : SeenRevisions()
        let records = try VaultRecords(in: directory, ring: ring, identity: identity, seen: before, policy: policy)
        let difference = difference(records, before, ring)
        guard expected == nil || expected == difference else { throw .changedMeanwhile }
        var seen = SeenRevisions()
        records.add(to: &seen)
        let device = try state.device().id
        var deleted: Set<RecordID> = []
        // Deletions are written first, so that no deleted passkey reappears if this is interrupted.
        for (id, entry) in before.entries where entry.isDeleted && records.all[id]?.isDeleted != true {
            let newest = records.all[id].map { max($0.newest, entry.newest) } ?? entry.newest
            let revision = try revision(of: id, after: newest, device: device)
            try write(seal(.deletion, id: id, revision: revision, key: key))
            seen.insert(id, newest: revision, isDeleted: true)
            deleted.insert(id)
        }
        try reseal(records, ring, &seen, except: deleted)
        try resealUsageHistory(ring)
        try state.write(seen, key: key)
        try remove(records.files.filter { $0.isOutdated && $0.isTrusted })
        return difference
    }

    /// Returns the differences between records and the revisions that this device has seen.
    func difference(_ records: VaultRecords, _ seen: SeenRevisions, _ ring: VaultKeyRing) -> VaultDifference {
        var difference = VaultDifference()
        for (id, entry) in seen.entries {
            let record = records.all[id]
            if entry.isDeleted, record?.isDeleted != true {
                difference.undeleted += 1
            } else if let record {
                if record.newest < entry.newest { difference.older += 1 }
            } else {
                difference.missing += 1
            }
        }
        let outdated = records.all.values.filter { $0.key != ring.newest }
        difference.deletedUnderReplacedKey = outdated.count(where: \.isDeleted)
        difference.underReplacedKey = outdated.count - difference.deletedUnderReplacedKey
        return difference
    }
}
