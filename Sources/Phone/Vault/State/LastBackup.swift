// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// Contents of the last backup from this device, which determine the backup state flag (BS).
///
/// File: magic (8) ‖ format (2) ‖ seconds since 1970 (8) ‖ a ``SeenRevisions`` file of the contents of the backup.
struct LastBackup: Equatable {
    /// File name in the local state.
    static let fileName = "backup"

    private static let magic = Array("HYBBCKUP".utf8)

    /// Time of the backup in seconds since 1970, by this device's clock.
    let time: UInt64
    /// Newest revision of every record in the backup.
    let contents: SeenRevisions
}

extension LastBackup {
    /// Decrypts the file; `nil` if it is not authentic.
    init?(bytes: [UInt8], key: SymmetricKey, identity: VaultIdentity) {
        guard let time = Self.time(in: bytes),
            let contents = SeenRevisions(bytes: Array(bytes.dropFirst(18)), key: key, identity: identity)
        else { return nil }
        self.init(time: time, contents: contents)
    }

    /// Returns the time in a file; this time is not authenticated.
    static func time(in bytes: [UInt8]) -> UInt64? {
        guard var reader = BinaryFieldReader(bytes, magic: magic) else { return nil }
        return reader.take(UInt64.self)
    }

    /// Contents of the file.
    func bytes(key: SymmetricKey, identity: VaultIdentity) throws -> [UInt8] {
        var bytes: [UInt8] = .header(magic: Self.magic)
        bytes.append(bigEndian: time)
        return bytes + (try contents.bytes(key: key, identity: identity))
    }

    /// Returns true if the backup contains the current revision of every passkey that is not deleted.
    func covers(_ records: VaultRecords) -> Bool {
        records.all.allSatisfy { id, record in
            record.isDeleted || contents.entries[id].map { $0.newest >= record.newest } == true
        }
    }
}
