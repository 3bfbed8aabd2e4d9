// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// What the last backup from this device holds, so that a relying party is told the truth about copies.
///
/// File: magic (8) ‖ format (2) ‖ seconds since 1970 (8) ‖ length-less rest: a ``SeenRevisions`` file of what was
/// in the backup.
struct LastBackup: Equatable {
    /// Name of the file in the local state.
    static let fileName = "backup"

    private static let magic = Array("HYBBCKUP".utf8)

    /// When, by this device's clock.
    let time: UInt64
    /// The newest revision of every record in it.
    let contents: SeenRevisions

    /// A backup that was just written.
    init(time: UInt64, contents: SeenRevisions) {
        self.time = time
        self.contents = contents
    }

    /// Opens the file; `nil` when it is not genuine.
    init?(bytes: [UInt8], key: SymmetricKey, identity: VaultIdentity) {
        guard let time = Self.time(in: bytes),
            let contents = SeenRevisions(bytes: Array(bytes.dropFirst(18)), key: key, identity: identity)
        else { return nil }
        self.init(time: time, contents: contents)
    }

    /// The time that a file names.
    static func time(in bytes: [UInt8]) -> UInt64? {
        var reader = FieldReader(bytes)
        guard reader.take(exactly: magic), reader.take(UInt16.self) == VaultIdentity.format else { return nil }
        return reader.take(UInt64.self)
    }

    /// The content of the file.
    func bytes(key: SymmetricKey, identity: VaultIdentity) throws -> [UInt8] {
        var bytes = Self.magic
        bytes.append(bigEndian: VaultIdentity.format)
        bytes.append(bigEndian: time)
        return bytes + (try contents.bytes(key: key, identity: identity))
    }

    /// Whether every passkey that is not deleted stands in the backup as it is now.
    func covers(_ records: Records) -> Bool {
        records.all.allSatisfy { id, record in
            record.isDeleted || contents.entries[id].map { $0.newest >= record.newest } == true
        }
    }
}
