// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCTAP

/// All authentic files in `records/`, reduced to the current revision of each record.
///
/// Any set of authentic files is a valid vault. The header identifies each file, so neither its place in `records/` nor
/// a suffix that a sync tool added matters. The highest revision is current, but a tombstone always wins.
struct VaultRecords {
    /// Maximum number of records, deleted ones included, up to which new ones are added.
    static let maximumCount = 10_000
    /// Maximum number of names that are read from `records/`.
    ///
    /// It is higher than ``maximumCount``, so that the union of two copies can still open and records can be deleted
    /// from it. If a server adds more, the records that this device has seen come first.
    static let maximumNames = 15_000
    /// Maximum number of files that are read from the directory of one record.
    private static let maximumRevisions = 1000
    /// Highest plausible counter under a replaced key; higher ones are forged.
    private static let maximumCounterTakenOver = UInt64.max / 2

    /// The state of one record.
    struct Record {
        /// The highest revision, whether or not it is current; the next counter is one higher.
        var newest: Revision
        /// The current revision.
        var current: RecordFile
        /// Content of the current revision without its secrets.
        var listing: RecordListing
        /// Key under which the current revision is sealed.
        var key: SymmetricKey

        /// True if the record is a tombstone.
        var isDeleted: Bool { listing.isDeleted }
    }

    /// All records, including deleted ones.
    private(set) var all: [RecordID: Record] = [:]
    /// Warnings about ignored files.
    private(set) var warnings: [VaultWarning] = []
    /// Names of the revisions that are not authentic, by the directory that they are in.
    ///
    /// They are set aside: a file that never opened on this device takes nothing from the vault, so that neither an
    /// unfinished copy nor a forged file stops it. ``check(against:)`` refuses those that this device has seen.
    private(set) var unopened: [String: Set<String>] = [:]
    /// All authentic files, including those under replaced keys.
    private(set) var files: [Found] = []

    /// An authentic file and its place in `records/`.
    struct Found {
        let directory: String
        let name: String
        let file: RecordFile
        /// True if the file is sealed under a replaced key.
        let isOutdated: Bool
        /// True if the file was considered in choosing the current revision.
        let isTrusted: Bool
        /// True if the file is a tombstone.
        let isTombstone: Bool
    }

    /// A policy that decides which revisions are trusted, by the key under which they are sealed.
    ///
    /// An attacker who has a replaced vault key can still create revisions and deletions with it. Revisions under such
    /// a key are therefore trusted only during a rekey, or if the user has accepted them.
    enum KeyPolicy {
        /// The newest key only.
        case newestKeyOnly
        /// During a rekey: the newest key and the one that it replaces.
        ///
        /// Revisions under older keys were ignored before and are not silently accepted.
        case rekeying
        /// The newest key, and any key for the files of a backup that the user chose; the set contains their SHA-256.
        ///
        /// During a rekey, the key that is being replaced is trusted, too.
        case chosen(Set<[UInt8]>, whileRekeying: Bool)
        /// All keys of the ring.
        case allKeys
    }

    /// The keys that were tried.
    let ring: VaultKeyRing
    private let identity: VaultIdentity
    private let policy: KeyPolicy

    /// Reads and verifies all records.
    ///
    /// - Parameters:
    ///   - vault: The vault directory.
    ///   - ring: The vault key and its predecessors.
    ///   - identity: The vault's identity.
    ///   - seen: Revisions that this device has seen. Their files are read, however many others there are.
    ///   - policy: The policy that decides which revisions are trusted.
    /// - Throws: ``VaultError/damaged(_:)`` if the disk cannot deliver a file.
    init(
        in vault: Directory,
        ring: VaultKeyRing,
        identity: VaultIdentity,
        seen: SeenRevisions,
        policy: KeyPolicy = .newestKeyOnly
    ) throws(VaultError) {
        self.ring = ring
        self.identity = identity
        self.policy = policy
        warnings = ring.warnings
        let records: Directory
        do {
            records = try vault.subdirectory(VaultDirectory.recordsName)
        } catch .absent {
            return
        } catch {
            throw .damaged("\(VaultDirectory.recordsName): \(error.reason)")
        }
        let names = try names(in: records, path: VaultDirectory.recordsName, limit: Self.maximumNames) { name in
            RecordID(name).map { seen.entries[$0] != nil } ?? false
        }
        for name in names {
            let path = "\(VaultDirectory.recordsName)/\(name)"
            guard let id = RecordID(name) else {
                ignore(path, "not the name of a record")
                continue
            }
            let directory = try readIfPossible(path, try records.subdirectory(name)) { ignore(path, $0.reason) }
            if let directory {
                try readRevisions(in: directory, path: path, name: name, seen: seen.entries[id]?.newest.fileName)
            }
        }
        warnAboutOutdatedFiles()
    }

    private mutating func readRevisions(
        in directory: Directory,
        path: String,
        name directoryName: String,
        seen: String?
    ) throws(VaultError) {
        for name in try names(in: directory, path: path, limit: Self.maximumRevisions, preferring: { $0 == seen }) {
            let file = "\(path)/\(name)"
            guard let kind = Revision.nameKind(name) else {
                ignore(file, "not the name of a revision")
                continue
            }
            let bytes = try readIfPossible(file, try directory.read(name, limit: RecordFile.maximumLength)) {
                ignore(file, $0.reason)
            }
            guard let bytes else { continue }
            if let record = RecordFile(bytes: bytes), let (index, listing) = open(record) {
                let isTrusted = isTrusted(index, record)
                files.append(
                    Found(
                        directory: directoryName,
                        name: name,
                        file: record,
                        isOutdated: index > 0,
                        isTrusted: isTrusted,
                        isTombstone: listing.isDeleted
                    )
                )
                if isTrusted { add(record, listing, ring.keys[index], path: file) }
            } else if kind == .proper {
                unopened[directoryName, default: []].insert(name)
                ignore(
                    file,
                    ring.hasUnknownSuccessor
                        ? "sealed with a different key, perhaps of a device that gave the vault a new key at the same time"
                        : "a revision that is not authentic, or not copied completely"
                )
            } else {
                ignore(file, "a copy that is not authentic")
            }
        }
    }

    private func isTrusted(_ index: Int, _ record: RecordFile) -> Bool {
        // After such a counter, the resealed revision might have no higher counter left.
        if index > 0, record.revision.counter > Self.maximumCounterTakenOver { return false }
        return switch policy {
        case .newestKeyOnly: index == 0
        case .rekeying: index <= 1
        case .chosen(let files, let isRekeying):
            index <= (isRekeying ? 1 : 0) || files.contains(Sealing.checksum(record.bytes))
        case .allKeys: true
        }
    }

    private func open(_ file: RecordFile) -> (Int, RecordListing)? {
        for (index, key) in ring.keys.enumerated() {
            if let listing = file.list(key: key, identity: identity) { return (index, listing) }
        }
        return nil
    }

    /// Adds warnings about files under a replaced key that would change a record; others are merely obsolete.
    private mutating func warnAboutOutdatedFiles() {
        for found in files where found.isOutdated && !found.isTrusted {
            if let record = all[found.file.id] {
                guard !record.isDeleted, found.isTombstone || found.file.revision > record.newest else { continue }
            }
            let path = "\(VaultDirectory.recordsName)/\(found.directory)/\(found.name)"
            if found.file.revision.counter > Self.maximumCounterTakenOver {
                ignore(path, "a revision with an impossible number, under a vault key that was replaced; delete it")
            } else {
                ignore(path, "written under a vault key that was replaced; `hybrid-auth vault accept` takes it over")
            }
        }
    }

    private mutating func add(_ file: RecordFile, _ listing: RecordListing, _ key: SymmetricKey, path: String) {
        if ![RecordBody.passkey, RecordBody.tombstone].contains(listing.kind) {
            // It still counts as a revision. Otherwise the record would seem rolled back or show an older state.
            ignore(path, "made by a later version of this program")
        }
        merge(file, listing, key)
    }

    private mutating func merge(_ file: RecordFile, _ listing: RecordListing, _ key: SymmetricKey) {
        let found = Record(newest: file.revision, current: file, listing: listing, key: key)
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
            record.listing = listing
            record.key = key
        }
        all[file.id] = record
    }

    private mutating func ignore(_ path: String, _ reason: String) {
        // Names with a leading dot belong to sync tools or unfinished writes.
        guard path.split(separator: "/").last?.hasPrefix(".") != true else { return }
        warnings.append(VaultWarning(path: path, reason: reason))
    }

    /// Returns the names in a directory; if there are more than `limit`, the preferred ones first, with a warning.
    private mutating func names(
        in directory: Directory,
        path: String,
        limit: Int,
        preferring isPreferred: (String) -> Bool
    ) throws(VaultError) -> [String] {
        do {
            let (names, areAll) = try directory.names(upTo: limit, preferring: isPreferred)
            if !areAll { warnings.append(.excess(in: path, limit: limit)) }
            return names
        } catch {
            throw .damaged("\(directory.path) can't be read: \(error.reason)")
        }
    }
}

extension VaultRecords {
    /// Adds the records among the files of a backup as if they were in the directory.
    mutating func add(_ entries: [BackupFile.Entry]) {
        for entry in entries {
            guard let record = RecordFile(bytes: entry.content), let (index, listing) = open(record),
                isTrusted(index, record)
            else { continue }
            merge(record, listing, ring.keys[index])
        }
    }

    /// Throws ``VaultError/rolledBack`` if records are missing or older than in `seen`; otherwise updates `seen`.
    ///
    /// - Throws: ``VaultError/rolledBack``, or ``VaultError/damaged(_:)`` if the file of a revision seen before exists
    ///   but does not open, or ``VaultError/rekeyedElsewhere``.
    func check(against seen: inout SeenRevisions) throws(VaultError) {
        for (id, entry) in seen.entries {
            guard let record = all[id], record.newest >= entry.newest, record.isDeleted || !entry.isDeleted else {
                throw loss(of: id, entry.newest)
            }
        }
        add(to: &seen)
    }

    /// Returns the error for a record that lacks a revision seen before.
    private func loss(of id: RecordID, _ newest: Revision) -> VaultError {
        guard let unopened = unopened[id.description] else { return .rolledBack }
        if ring.hasUnknownSuccessor { return .rekeyedElsewhere }
        guard unopened.contains(newest.fileName) else { return .rolledBack }
        return .damaged("\(VaultDirectory.recordsName)/\(id)/\(newest.fileName) is not authentic")
    }

    /// Adds the newest revision of every record to `seen`.
    func add(to seen: inout SeenRevisions) {
        for (id, record) in all { seen.insert(id, newest: record.newest, isDeleted: record.isDeleted) }
    }

    /// Passkeys that are not deleted, without their secrets, the newest first.
    var passkeys: [(id: RecordID, body: PasskeyListing)] {
        all.compactMap { id, record in record.listing.passkey.map { (id, $0) } }
            .sorted { left, right in
                if left.body.order != right.body.order { return left.body.order > right.body.order }
                return right.id.bytes.lexicographicallyPrecedes(left.id.bytes)
            }
    }

    /// Opens a passkey with its private key; `nil` if this version cannot use it.
    func open(_ id: RecordID) -> Passkey? {
        all[id].flatMap { $0.current.passkey(key: $0.key, identity: identity) }
    }

    /// Opens a passkey's record with all members, secrets included, to change or to export it.
    func reveal(_ id: RecordID) -> PasskeyBody? {
        guard let record = all[id], record.listing.passkey != nil else { return nil }
        return record.current.open(key: record.key, identity: identity)?.members.map { PasskeyBody(members: $0) }
    }

    /// Returns the record of a passkey; credential IDs are unique only within a relying party.
    func passkey(_ credential: CredentialID, of relyingParty: RelyingPartyID) -> RecordID? {
        passkeys.first { $0.body.id == credential && $0.body.relyingParty == relyingParty }?.id
    }

    /// Warnings about passkeys that this version keeps but cannot use.
    var unusable: [VaultWarning] {
        all.filter { $0.value.listing.kind == RecordBody.passkey && $0.value.listing.passkey?.isUsable != true }
            .map { id, record in
                let path = "\(VaultDirectory.recordsName)/\(id)/\(record.current.revision.fileName)"
                return VaultWarning(path: path, reason: "a passkey that this version can't use")
            }
            .sorted { $0.path < $1.path }
    }
}
