// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridPrimitives

/// A file that contains one sealed revision of one record.
///
/// Magic (8) ‖ format (2) ‖ record ID (16) ‖ counter (8) ‖ device ID (8) ‖ nonce (12) ‖ ciphertext (512 × k) ‖ tag
/// (16). The header determines the revision; the file name only helps to find it.
struct RecordFile: Equatable {
    /// First eight bytes.
    static let magic = Array("HYBRECRD".utf8)
    /// Maximum length, in bytes.
    static let maximumLength = 256 * 1024
    /// Block size of the padding, in bytes.
    static let block = 512
    /// Maximum length of the padded plaintext, in bytes.
    static let maximumContent = (maximumLength - 42 - Sealing.nonceLength - Sealing.tagLength) / block * block

    private static let label = Array("record v1".utf8)

    /// ID of the record.
    let id: RecordID
    /// Revision of the record.
    let revision: Revision
    /// Nonce ‖ ciphertext ‖ tag.
    let sealed: [UInt8]

    /// The nonce, which decides between two files of the same revision.
    var nonce: ArraySlice<UInt8> { sealed.prefix(Sealing.nonceLength) }

    /// Contents of the file.
    var bytes: [UInt8] { .header(magic: Self.magic) + Self.fields(id, revision) + sealed }

    /// Parses the header and checks the length; only ``open(key:identity:)`` verifies that the file is authentic.
    init?(bytes: [UInt8]) {
        guard bytes.count <= Self.maximumLength, var reader = BinaryFieldReader(bytes, magic: Self.magic),
            let id = reader.take(16).flatMap(RecordID.init(bytes:)),
            let counter = reader.take(UInt64.self), counter > 0,
            let device = reader.takeDeviceID()
        else { return nil }
        let padded = reader.rest.count - Sealing.nonceLength - Sealing.tagLength
        guard padded > 0, padded.isMultiple(of: Self.block) else { return nil }
        self.id = id
        self.revision = Revision(counter: counter, device: device)
        self.sealed = Array(reader.rest)
    }

    /// Creates a file with a body sealed as one revision; `nil` if it would be too long.
    init?(
        sealing body: RecordBody,
        id: RecordID,
        revision: Revision,
        key: SymmetricKey,
        identity: VaultIdentity,
        nonce: [UInt8]? = nil
    ) {
        var plaintext = body.padded
        defer { SecretBytes.wipe(&plaintext) }
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

    /// Decrypts the file with the vault key, with all members, secrets included.
    ///
    /// Returns `nil` if any bit of it, or of the vault's identity, is not authentic.
    func open(key: SymmetricKey, identity: VaultIdentity) -> RecordBody? {
        open(key: key, identity: identity) { RecordBody(padded: $0) }
    }

    /// Opens the file like ``open(key:identity:)``, but leaves the secrets out.
    func list(key: SymmetricKey, identity: VaultIdentity) -> RecordListing? {
        open(key: key, identity: identity) { RecordListing(padded: $0) }
    }

    /// Opens the file like ``open(key:identity:)``; also `nil` if it holds no passkey that this version can use.
    func passkey(key: SymmetricKey, identity: VaultIdentity) -> Passkey? {
        open(key: key, identity: identity) { PasskeyListing.passkey(padded: $0) }
    }

    private func open<Value>(
        key: SymmetricKey,
        identity: VaultIdentity,
        _ read: (UnsafeRawBufferPointer) -> Value?
    ) -> Value? {
        try? Sealing.open(
            sealed,
            key: Self.key(key, identity, id, revision),
            associatedData: Self.associatedData(identity, id, revision),
            read
        )
    }

    /// Returns the same plaintext sealed as another revision under another key; `nil` if this file is not authentic.
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
            try? Sealing.seal(
                plaintext,
                key: Self.key(new, identity, id, revision),
                associatedData: Self.associatedData(identity, id, revision)
            )
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
