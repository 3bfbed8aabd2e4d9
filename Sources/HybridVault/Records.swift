// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCTAP

/// Everything genuine in `records/`, reduced to the current revision of each record.
///
/// Any set of genuine files is a valid vault, wherever in `records/` they lie and whatever suffix a sync tool
/// gave them: each is known by its header. The highest revision is the current one, but a tombstone always wins.
struct Records {
    /// More records than that are not written.
    static let maximumCount = 10_000
    /// More names than that are refused.
    ///
    /// More than are written, so that what sync tools unite of several full vaults still opens and can be deleted.
    static let maximumNames = 15_000
    /// More revisions than that of one record are refused.
    private static let maximumRevisions = 1000
    /// Higher counters under a key that was replaced were made up.
    private static let maximumCounterTakenOver = UInt64.max / 2

    /// One record.
    struct Record {
        /// The highest revision of any kind; the next is one above its counter.
        var newest: Revision
        /// What counts now.
        var current: RecordFile
        /// Its content.
        var body: RecordBody
        /// The key under which the current file is sealed.
        var key: SymmetricKey

        /// Whether it is deleted, for ever.
        var isDeleted: Bool { body.kind == RecordBody.tombstone }
    }

    /// All records, deleted ones included.
    private(set) var all: [RecordID: Record] = [:]
    /// How many names there are in `records/`, those of records that can't be read included.
    private(set) var count = 0
    /// What was left alone.
    private(set) var notes: [VaultNote] = []
    /// Genuine files, and where they lie in `records/`.
    private(set) var files: [Found] = []

    /// A genuine file.
    struct Found {
        let directory: String
        let name: String
        let file: RecordFile
        /// Whether it is sealed under a key that was replaced.
        let isOutdated: Bool
        /// Whether it had a say in what is current.
        let counts: Bool
        /// Whether it is a tombstone.
        let isTombstone: Bool
    }

    /// Which keys count.
    ///
    /// Whoever got hold of a vault key that was replaced may still write under it, deletions too. So what is sealed
    /// under it counts only while the rekeying goes on, and when a person has accepted it.
    enum Counting {
        case newestKeyOnly
        /// The newest key and the one that it replaces, while that goes on. What is under still older keys was only
        /// noted before, and is not taken over in passing.
        case rekeying
        /// The newest key, and of what is under older ones these files, by their SHA-256: those of a backup that a
        /// person has chosen. What a server put beside them was not chosen. While a rekeying goes on, the key that is
        /// replaced counts too, as ever.
        case chosen(Set<[UInt8]>, whileRekeying: Bool)
        case allKeys
    }

    private let ring: KeyRing
    private let identity: VaultIdentity
    private let counting: Counting

    /// Reads and verifies all of them.
    ///
    /// - Throws: ``VaultError/damaged(_:)`` for any file with the name of a record that is not genuine.
    init(
        in vault: Directory,
        ring: KeyRing,
        identity: VaultIdentity,
        counting: Counting = .newestKeyOnly
    ) throws(VaultError) {
        self.ring = ring
        self.identity = identity
        self.counting = counting
        notes = ring.notes
        let records: Directory
        do {
            records = try vault.subdirectory(VaultDirectory.recordsName)
        } catch .absent {
            return
        } catch {
            throw .damaged("\(VaultDirectory.recordsName): \(error.words)")
        }
        let names = try Self.names(in: records, limit: Self.maximumNames)
        count = names.count
        for name in names {
            guard RecordID(name) != nil else {
                leaveAlone("\(VaultDirectory.recordsName)/\(name)", "not the name of a record")
                continue
            }
            let path = "\(VaultDirectory.recordsName)/\(name)"
            do {
                let directory = try records.subdirectory(name)
                try readRevisions(in: directory, path: path, name: name)
            } catch let failure as FileFailure {
                if case .system = failure { throw .damaged("\(path) can't be read: \(failure.words)") }
                leaveAlone(path, failure.words)
            } catch let error as VaultError {
                throw error
            } catch {
                leaveAlone(path, "it can't be read")
            }
        }
        noteOutdated()
    }

    private mutating func readRevisions(
        in directory: Directory,
        path: String,
        name directoryName: String
    ) throws {
        for name in try Self.names(in: directory, limit: Self.maximumRevisions) {
            let file = "\(path)/\(name)"
            guard let kind = Revision.nameKind(name) else {
                leaveAlone(file, "not the name of a revision")
                continue
            }
            let bytes: [UInt8]
            do {
                bytes = try directory.read(name, limit: RecordFile.maximumLength)
            } catch {
                if case .system = error {
                    throw VaultError.damaged("\(file) can't be read: \(error.words)")
                }
                leaveAlone(file, error.words)
                continue
            }
            if let record = RecordFile(bytes: bytes), let (index, body) = open(record) {
                let counts = doesCount(index, record)
                files.append(
                    Found(
                        directory: directoryName,
                        name: name,
                        file: record,
                        isOutdated: index > 0,
                        counts: counts,
                        isTombstone: body.kind == RecordBody.tombstone
                    )
                )
                if counts { add(record, body, ring.keys[index], path: file) }
            } else if kind == .proper {
                throw ring.hasStrangers ? VaultError.rekeyedElsewhere : .damaged("\(file) is not what was written")
            } else {
                leaveAlone(file, "a copy that is not genuine")
            }
        }
    }

    private func doesCount(_ index: Int, _ record: RecordFile) -> Bool {
        // A counter that nobody reaches would leave no room for the revision that takes it over.
        if index > 0, record.revision.counter > Self.maximumCounterTakenOver { return false }
        return switch counting {
        case .newestKeyOnly: index == 0
        case .rekeying: index <= 1
        case .chosen(let files, let isRekeying):
            index <= (isRekeying ? 1 : 0) || files.contains(Sealing.checksum(record.bytes))
        case .allKeys: true
        }
    }

    private func open(_ file: RecordFile) -> (Int, RecordBody)? {
        for (index, key) in ring.keys.enumerated() {
            if let body = file.open(key: key, identity: identity) { return (index, body) }
        }
        return nil
    }

    /// Tells what was written under a replaced key and is news; the rest of it is only left over.
    private mutating func noteOutdated() {
        for found in files where found.isOutdated && !found.counts {
            if let record = all[found.file.id] {
                guard !record.isDeleted, found.isTombstone || found.file.revision > record.newest else { continue }
            }
            let path = "\(VaultDirectory.recordsName)/\(found.directory)/\(found.name)"
            if found.file.revision.counter > Self.maximumCounterTakenOver {
                leaveAlone(path, "a revision that nobody reaches, under a vault key that was replaced; delete it")
                continue
            }
            leaveAlone(
                path,
                "written under a vault key that was replaced; `hybrid-auth vault accept` takes it over"
            )
        }
    }

    private mutating func add(_ file: RecordFile, _ body: RecordBody, _ key: SymmetricKey, path: String) {
        if ![RecordBody.passkey, RecordBody.tombstone].contains(body.kind) {
            // Still counted, so that nothing is taken for rolled back, or shown as current that is not.
            leaveAlone(path, "made by a later version of this program")
        }
        merge(file, body, key)
    }

    private mutating func merge(_ file: RecordFile, _ body: RecordBody, _ key: SymmetricKey) {
        let found = Record(newest: file.revision, current: file, body: body, key: key)
        guard var record = all[file.id] else {
            all[file.id] = found
            return
        }
        record.newest = max(record.newest, file.revision)
        let order = (record.current.revision, file.revision)
        let isNewer =
            order.0 != order.1 ? order.0 < order.1 : record.current.nonce.lexicographicallyPrecedes(file.nonce)
        if found.isDeleted == record.isDeleted ? isNewer : found.isDeleted {
            record.current = file
            record.body = body
            record.key = key
        }
        all[file.id] = record
    }

    private mutating func leaveAlone(_ path: String, _ reason: String) {
        // Names that begin with a dot are the business of sync tools and of writes in progress.
        guard path.split(separator: "/").last?.hasPrefix(".") != true else { return }
        notes.append(VaultNote(path: path, reason: reason))
    }

    private static func names(in directory: Directory, limit: Int) throws(VaultError) -> [String] {
        do {
            return try directory.names(limit: limit)
        } catch .tooLarge {
            throw .tooLarge("more than \(limit) files in \(directory.path); remove what this program did not write")
        } catch {
            throw .damaged("\(directory.path) can't be read: \(error.words)")
        }
    }
}

extension Records {
    /// Adds files that are not in the directory, as if they were.
    mutating func add(_ entries: [BackupFile.Entry]) {
        for entry in entries {
            guard let record = RecordFile(bytes: entry.content), let (index, body) = open(record),
                doesCount(index, record)
            else { continue }
            merge(record, body, ring.keys[index])
        }
    }

    /// Refuses records that are older than what was seen, or missing, and adds what is new to what was seen.
    func check(against seen: inout SeenRevisions) throws(VaultError) {
        for (id, entry) in seen.entries {
            guard let record = all[id], record.newest >= entry.newest, record.isDeleted || !entry.isDeleted else {
                throw .rolledBack
            }
        }
        for (id, record) in all { seen.note(id, newest: record.newest, isDeleted: record.isDeleted) }
    }

    /// The passkeys that are not deleted, the last created first.
    var passkeys: [(id: RecordID, body: PasskeyBody)] {
        all.compactMap { id, record in
            guard record.body.kind == RecordBody.passkey, let members = record.body.members else { return nil }
            return (id, PasskeyBody(members: members))
        }
        .sorted { left, right in
            if left.body.order != right.body.order { return left.body.order > right.body.order }
            return right.id.bytes.lexicographicallyPrecedes(left.id.bytes)
        }
    }

    /// The record of a relying party's passkey; another relying party may have one with the same ID.
    func passkey(_ credential: CredentialID, of relyingParty: RelyingPartyID) -> RecordID? {
        passkeys.first { $0.body.id == credential && $0.body.relyingParty == relyingParty }?.id
    }

    /// Notes on passkeys that are kept but can't be used by this version.
    var unusable: [VaultNote] {
        all.filter { $0.value.body.kind == RecordBody.passkey }
            .filter { $0.value.body.members.flatMap { PasskeyBody(members: $0).passkey } == nil }
            .map { id, record in
                let path = "\(VaultDirectory.recordsName)/\(id)/\(record.current.revision.fileName)"
                return VaultNote(path: path, reason: "a passkey that this version can't use")
            }
            .sorted { $0.path < $1.path }
    }
}
