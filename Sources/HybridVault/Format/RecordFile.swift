// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// One sealed revision of one record, as it stands in a file.
///
/// Magic (8) ‖ format (2) ‖ record ID (16) ‖ counter (8) ‖ device ID (8) ‖ nonce (12) ‖ ciphertext (512 × k)
/// ‖ tag (16). The header says which revision it is; the file's name only helps to find it.
struct RecordFile: Equatable {
    /// The first eight bytes.
    static let magic = Array("HYBRECRD".utf8)
    /// The longest file, in bytes.
    static let maximumLength = 256 * 1024
    /// Plaintexts are padded to a multiple of it.
    static let block = 512
    /// The longest plaintext with its padding, in bytes.
    static let maximumContent = (maximumLength - 42 - Sealing.nonceLength - Sealing.tagLength) / block * block

    private static let label = Array("record v1".utf8)

    /// Which record.
    let id: RecordID
    /// Which revision of it.
    let revision: Revision
    /// Nonce ‖ ciphertext ‖ tag.
    let sealed: [UInt8]

    /// The nonce, which settles the order of two files of the same revision.
    var nonce: ArraySlice<UInt8> { sealed.prefix(Sealing.nonceLength) }

    /// The content of the file.
    var bytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(bigEndian: VaultIdentity.format)
        return bytes + Self.fields(id, revision) + sealed
    }

    /// Reads header and lengths; whether it is genuine is only known after ``open(key:identity:)``.
    init?(bytes: [UInt8]) {
        guard bytes.count <= Self.maximumLength else { return nil }
        var reader = FieldReader(bytes)
        guard reader.take(exactly: Self.magic), reader.take(UInt16.self) == VaultIdentity.format,
            let id = reader.take(16).flatMap(RecordID.init(bytes:)),
            let counter = reader.take(UInt64.self), counter > 0,
            let device = reader.take(8).flatMap(DeviceID.init(bytes:))
        else { return nil }
        let padded = reader.rest.count - Sealing.nonceLength - Sealing.tagLength
        guard padded > 0, padded.isMultiple(of: Self.block) else { return nil }
        self.id = id
        self.revision = Revision(counter: counter, device: device)
        self.sealed = Array(reader.rest)
    }

    /// Seals a body as one revision; `nil` if it is too long.
    init?(
        sealing body: RecordBody,
        id: RecordID,
        revision: Revision,
        key: SymmetricKey,
        identity: VaultIdentity,
        nonce: [UInt8]? = nil
    ) {
        var plaintext = body.padded
        defer { plaintext.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) } }
        guard
            let sealed = try? Sealing.seal(
                plaintext,
                key: Self.key(key, identity, id, revision),
                associatedData: Self.associatedData(identity, id, revision),
                nonce: nonce
            )
        else { return nil }
        self.id = id
        self.revision = revision
        self.sealed = sealed
        guard bytes.count <= Self.maximumLength else { return nil }
    }

    /// Opens it under the vault key; `nil` when any bit of it, or of the vault's identity, is not genuine.
    func open(key: SymmetricKey, identity: VaultIdentity) -> RecordBody? {
        try? Sealing.open(
            sealed,
            key: Self.key(key, identity, id, revision),
            associatedData: Self.associatedData(identity, id, revision)
        ) { RecordBody(padded: $0) }
    }

    /// The same content, byte for byte, as another revision under another key; `nil` if it is not genuine.
    func resealed(
        as revision: Revision,
        under new: SymmetricKey,
        from old: SymmetricKey,
        identity: VaultIdentity
    ) -> RecordFile? {
        let sealed = try? Sealing.open(
            sealed,
            key: Self.key(old, identity, id, self.revision),
            associatedData: Self.associatedData(identity, id, self.revision)
        ) { plaintext -> [UInt8]? in
            let box = try? AES.GCM.seal(
                plaintext,
                using: Self.key(new, identity, id, revision),
                authenticating: Self.associatedData(identity, id, revision)
            )
            return box.map { Array($0.nonce) + Array($0.ciphertext) + Array($0.tag) }
        }
        guard let sealed else { return nil }
        return RecordFile(id: id, revision: revision, sealed: sealed)
    }

    private init(id: RecordID, revision: Revision, sealed: [UInt8]) {
        self.id = id
        self.revision = revision
        self.sealed = sealed
    }

    private static func fields(_ id: RecordID, _ revision: Revision) -> [UInt8] {
        var fields = id.bytes
        fields.append(bigEndian: revision.counter)
        return fields + revision.device.bytes
    }

    private static func key(
        _ vaultKey: SymmetricKey,
        _ identity: VaultIdentity,
        _ id: RecordID,
        _ revision: Revision
    ) -> SymmetricKey {
        Sealing.derive(vaultKey, identity: identity, info: label + fields(id, revision))
    }

    private static func associatedData(_ identity: VaultIdentity, _ id: RecordID, _ revision: Revision) -> [UInt8] {
        label + identity.associatedData + fields(id, revision)
    }
}
