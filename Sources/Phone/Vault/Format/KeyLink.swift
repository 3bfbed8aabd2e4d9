// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// ID of a vault key: the first 16 bytes of HKDF(vault key, salt = vault ID, info = `key id v1`).
///
/// It distinguishes keys without revealing anything about them.
struct VaultKeyID: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    static let length = 16
    private static let label = Array("key id v1".utf8)

    let bytes: [UInt8]

    /// Computes the ID of a key.
    init(of key: SymmetricKey, identity: VaultIdentity) {
        bytes = Sealing.derive(key, identity: identity, info: Self.label).withUnsafeBytes {
            Array($0.prefix(Self.length))
        }
    }

    /// Creates a value from bytes whose length has been checked.
    init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}

/// A statement that one vault key replaced another.
///
/// It also gives the old key to a holder of the new one.
///
/// Magic (8) ‖ format (2) ‖ vault ID (16) ‖ test (1) ‖ new key ID (16) ‖ old key ID (16) ‖ the old key sealed under the
/// new (12 + 32 + 16) ‖ HMAC-SHA256 of the preceding bytes under the old key (32). The HMAC proves to a device that has
/// only the old key that a holder of that key replaced it. A sync server cannot forge the HMAC.
struct KeyLink: Equatable {
    /// Length in bytes.
    static let length = 59 + 60 + 32

    private static let magic = Array("HYBKEYLN".utf8)
    private static let wrapLabel = Array("key link v1".utf8)
    private static let macLabel = Array("key link v1 announced".utf8)

    let identity: VaultIdentity
    /// ID of the new key.
    let new: VaultKeyID
    /// ID of the old key.
    let old: VaultKeyID
    private let sealed: [UInt8]
    private let mac: [UInt8]

    /// Creates the link from an old key to the new one.
    init(from old: SymmetricKey, to new: SymmetricKey, identity: VaultIdentity) throws {
        self.identity = identity
        self.new = VaultKeyID(of: new, identity: identity)
        self.old = VaultKeyID(of: old, identity: identity)
        let header = Self.header(identity, self.new, self.old)
        let wrapping = Sealing.derive(new, identity: identity, info: Self.wrapLabel)
        sealed = try old.withUnsafeBytes { try Sealing.seal($0, key: wrapping, associatedData: header) }
        mac = Array(
            HMAC<SHA256>.authenticationCode(
                for: header + sealed,
                using: Sealing.derive(old, identity: identity, info: Self.macLabel)
            )
        )
    }

    /// Parses a link; one of the two keys is needed to verify it.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.length, var reader = BinaryFieldReader(bytes, magic: Self.magic),
            let identity = reader.takeIdentity(), let new = reader.takeKeyID(), let old = reader.takeKeyID(),
            new != old,
            let sealed = reader.take(60), let mac = reader.take(32)
        else { return nil }
        self.identity = identity
        self.new = new
        self.old = old
        self.sealed = sealed
        self.mac = mac
    }

    /// Contents of the file.
    var bytes: [UInt8] { Self.header(identity, new, old) + sealed + mac }
    /// File name: both key IDs in hexadecimal.
    var fileName: String { Hex.encode(new.bytes) + "-" + Hex.encode(old.bytes) }

    /// Returns the old key; `nil` if any bit is not authentic.
    func open(with key: SymmetricKey) -> SymmetricKey? {
        try? Sealing.open(
            sealed,
            key: Sealing.derive(key, identity: identity, info: Self.wrapLabel),
            associatedData: Self.header(identity, new, old)
        ) { SymmetricKey(data: $0) }
    }

    /// Returns true if the link was created with the old key.
    func isAuthentic(under old: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            mac,
            authenticating: Self.header(identity, new, self.old) + sealed,
            using: Sealing.derive(old, identity: identity, info: Self.macLabel)
        )
    }

    private static func header(_ identity: VaultIdentity, _ new: VaultKeyID, _ old: VaultKeyID) -> [UInt8] {
        magic + identity.associatedData + new.bytes + old.bytes
    }
}
