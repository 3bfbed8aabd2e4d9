// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The newest revision of every record that this device has seen; an older one means a rollback.
///
/// It is a ``SealedFile`` with the label `seen v1`. The plaintext contains, for each record in the order of the IDs:
/// record ID (16) ‖ counter (8) ‖ device ID (8) ‖ deleted (1).
struct SeenRevisions: Equatable {
    /// File name in the local state.
    static let fileName = "seen"
    /// Maximum length, in bytes.
    static let maximumLength = 512 * 1024

    private static let file = SealedFile(magic: "HYBSEENR", label: "seen v1")

    /// The newest revision of one record.
    struct Entry: Equatable {
        var newest: Revision
        var isDeleted: Bool
    }

    private(set) var entries: [RecordID: Entry] = [:]

    /// Creates an empty set.
    init() {}

    /// Decrypts the file; `nil` if it is not authentic.
    init?(bytes: [UInt8], key: SymmetricKey, identity: VaultIdentity) {
        guard let entries = Self.file.open(bytes, key: key, identity: identity, Self.read) else { return nil }
        self.entries = entries
    }

    /// Returns the contents of the file.
    func bytes(key: SymmetricKey, identity: VaultIdentity) throws -> [UInt8] {
        var plaintext: [UInt8] = []
        for (id, entry) in entries.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
            plaintext += id.bytes
            plaintext.append(bigEndian: entry.newest.counter)
            plaintext += entry.newest.device.bytes + [entry.isDeleted ? 1 : 0]
        }
        return try Self.file.seal(plaintext, key: key, identity: identity)
    }

    /// Adds a revision, unless a newer one is known; a deletion is never undone.
    mutating func insert(_ id: RecordID, newest: Revision, isDeleted: Bool) {
        let before = entries[id]
        entries[id] = Entry(
            newest: before.map { max($0.newest, newest) } ?? newest,
            isDeleted: isDeleted || before?.isDeleted == true
        )
    }

    private static func read(_ plaintext: UnsafeRawBufferPointer) -> [RecordID: Entry]? {
        var reader = BinaryFieldReader(plaintext)
        var entries: [RecordID: Entry] = [:]
        while !reader.rest.isEmpty {
            guard let id = reader.take(16).flatMap(RecordID.init(bytes:)), let counter = reader.take(UInt64.self),
                let device = reader.takeDeviceID(), let deleted = reader.take(UInt8.self)
            else { return nil }
            entries[id] = Entry(newest: Revision(counter: counter, device: device), isDeleted: deleted == 1)
        }
        return entries
    }
}
