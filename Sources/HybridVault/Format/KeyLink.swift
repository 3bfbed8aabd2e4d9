// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// Name of a vault key: the first 16 bytes of HKDF(vault key, salt = vault ID, info = `key id v1`).
///
/// It tells keys apart without telling anything about them.
struct KeyID: Hashable, Sendable {
    /// How long one is, in bytes.
    static let length = 16
    private static let label = Array("key id v1".utf8)

    let bytes: [UInt8]

    /// The name of a key.
    init(of key: SymmetricKey, identity: VaultIdentity) {
        bytes = Sealing.derive(key, identity: identity, info: Self.label).withUnsafeBytes {
            Array($0.prefix(Self.length))
        }
    }

    /// Takes exactly 16 bytes; anything else is `nil`.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }
}

/// Says that one vault key took the place of another, and gives the one before to whoever has the new one.
///
/// Magic (8) ‖ format (2) ‖ vault ID (16) ‖ test (1) ‖ new key ID (16) ‖ old key ID (16) ‖ the old key sealed under
/// the new (12 + 32 + 16) ‖ HMAC-SHA256 of all before under the old key (32). By the HMAC whoever has only the
/// old key knows that somebody who had it too has really replaced it; a sync server can't make that up.
struct KeyLink: Equatable {
    /// The only length there is.
    static let length = 59 + 60 + 32

    private static let magic = Array("HYBKEYLN".utf8)
    private static let wrapLabel = Array("key link v1".utf8)
    private static let announceLabel = Array("key link v1 announced".utf8)

    let identity: VaultIdentity
    /// The key that took over.
    let new: KeyID
    /// The key before.
    let old: KeyID
    private let sealed: [UInt8]
    private let announcement: [UInt8]

    /// Replaces a key.
    init(from old: SymmetricKey, to new: SymmetricKey, identity: VaultIdentity) throws {
        self.identity = identity
        self.new = KeyID(of: new, identity: identity)
        self.old = KeyID(of: old, identity: identity)
        let header = Self.header(identity, self.new, self.old)
        let wrapping = Sealing.derive(new, identity: identity, info: Self.wrapLabel)
        sealed = try old.withUnsafeBytes { bytes in
            let box = try AES.GCM.seal(bytes, using: wrapping, authenticating: header)
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        }
        announcement = Array(
            HMAC<SHA256>.authenticationCode(
                for: header + sealed,
                using: Sealing.derive(old, identity: identity, info: Self.announceLabel)
            )
        )
    }

    /// Reads a link; whether it is genuine is only known with one of the keys.
    init?(bytes: [UInt8]) {
        var reader = FieldReader(bytes)
        guard bytes.count == Self.length, reader.take(exactly: Self.magic),
            reader.take(UInt16.self) == VaultIdentity.format,
            let id = reader.take(16), let test = reader.take(UInt8.self), test <= 1,
            let new = reader.take(KeyID.length).flatMap(KeyID.init(bytes:)),
            let old = reader.take(KeyID.length).flatMap(KeyID.init(bytes:)), new != old,
            let sealed = reader.take(60), let announcement = reader.take(32)
        else { return nil }
        self.identity = VaultIdentity(id: id, test: test == 1)
        self.new = new
        self.old = old
        self.sealed = sealed
        self.announcement = announcement
    }

    /// The content of the file.
    var bytes: [UInt8] { Self.header(identity, new, old) + sealed + announcement }
    /// The name of its file: both key IDs in hexadecimal.
    var fileName: String { Hex.encode(new.bytes) + "-" + Hex.encode(old.bytes) }

    /// The old key; `nil` when any bit is not genuine.
    func open(with key: SymmetricKey) -> SymmetricKey? {
        try? Sealing.open(
            sealed,
            key: Sealing.derive(key, identity: identity, info: Self.wrapLabel),
            associatedData: Self.header(identity, new, old)
        ) { SymmetricKey(data: $0) }
    }

    /// Whether somebody who had the old key made it.
    func isAnnounced(by old: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            announcement,
            authenticating: Self.header(identity, new, self.old) + sealed,
            using: Sealing.derive(old, identity: identity, info: Self.announceLabel)
        )
    }

    private static func header(_ identity: VaultIdentity, _ new: KeyID, _ old: KeyID) -> [UInt8] {
        magic + identity.associatedData + new.bytes + old.bytes
    }
}
