// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A whole vault in one file, sealed under the vault key.
///
/// The slots precede the sealed part, so a passphrase or recovery code opens the file on any device.
///
/// Magic (8) ‖ format (2) ‖ vault ID (16) ‖ test (1) ‖ key ID (16) ‖ number of slots (1) ‖ slots (219 each) ‖ nonce
/// (12) ‖ ciphertext ‖ tag (16). Everything before the nonce is associated data. The plaintext contains, for each file:
/// length of its path (2; not zero) ‖ path ‖ length (4) ‖ content; then zeros to the next multiple of 4,096.
struct BackupFile {
    /// Maximum length, in bytes.
    static let maximumLength = 256 * 1024 * 1024

    private static let magic = Array("HYBBACKP".utf8)
    private static let label = Array("backup v1".utf8)
    private static let headerLength = 44
    private static let block = 4096

    /// A file of the vault.
    struct Entry: Equatable {
        /// Path inside the vault, with slashes.
        let path: String
        let content: [UInt8]
    }

    let identity: VaultIdentity
    let keyID: VaultKeyID
    let slots: [PortableSlot]
    private let header: [UInt8]
    private let sealed: ArraySlice<UInt8>

    /// Parses everything before the sealed part; `nil` if that is damaged or the file is not a backup.
    init?(bytes: [UInt8]) {
        guard var reader = BinaryFieldReader(bytes.prefix(Self.headerLength), magic: Self.magic),
            let identity = reader.takeIdentity(), let keyID = reader.takeKeyID(), let count = reader.take(UInt8.self),
            (1...PortableSlots.maximumCount).contains(Int(count))
        else { return nil }
        let length = Self.headerLength + Int(count) * PortableSlot.length
        guard bytes.count > length else { return nil }
        self.identity = identity
        self.keyID = keyID
        var slots: [PortableSlot] = []
        for index in 0..<Int(count) {
            let start = Self.headerLength + index * PortableSlot.length
            guard let slot = PortableSlot(bytes: Array(bytes[start..<(start + PortableSlot.length)])),
                slot.identity == identity, slot.keyID == keyID
            else { return nil }
            slots.append(slot)
        }
        self.slots = slots
        header = Array(bytes.prefix(length))
        sealed = bytes[length...]
    }

    /// Returns the contents of a backup with these files of a vault.
    static func seal(
        _ entries: [Entry],
        slots: [PortableSlot],
        key: SymmetricKey,
        identity: VaultIdentity
    ) throws -> [UInt8] {
        var header =
            magic + identity.associatedData + VaultKeyID(of: key, identity: identity).bytes + [UInt8(slots.count)]
        for slot in slots { header += slot.bytes }
        var plaintext: [UInt8] = []
        for entry in entries {
            plaintext.append(bigEndian: UInt16(entry.path.utf8.count))
            plaintext += entry.path.utf8
            plaintext.append(bigEndian: UInt32(entry.content.count))
            plaintext += entry.content
        }
        plaintext += [UInt8](repeating: 0, count: (block - plaintext.count % block) % block)
        let sealing = Sealing.derive(key, identity: identity, info: label)
        return header + (try Sealing.seal(plaintext, key: sealing, associatedData: header))
    }

    /// Returns the files; `nil` if any bit is not authentic.
    func open(key: SymmetricKey) -> [Entry]? {
        try? Sealing.open(
            sealed,
            key: Sealing.derive(key, identity: identity, info: Self.label),
            associatedData: header
        ) { Self.entries($0) }
    }

    private static func entries(_ plaintext: UnsafeRawBufferPointer) -> [Entry]? {
        var entries: [Entry] = []
        var position = 0
        func number(_ count: Int) -> Int? {
            guard position + count <= plaintext.count else { return nil }
            defer { position += count }
            return plaintext[position..<(position + count)].reduce(0) { $0 << 8 | Int($1) }
        }
        func bytes(_ count: Int) -> [UInt8]? {
            guard count <= plaintext.count - position else { return nil }
            defer { position += count }
            return Array(plaintext[position..<(position + count)])
        }
        while position + 2 <= plaintext.count {
            guard let pathLength = number(2) else { return nil }
            if pathLength == 0 { break }
            guard let path = bytes(pathLength), let length = number(4), let content = bytes(length) else { return nil }
            entries.append(Entry(path: String(decoding: path, as: UTF8.self), content: content))
        }
        return entries
    }
}
