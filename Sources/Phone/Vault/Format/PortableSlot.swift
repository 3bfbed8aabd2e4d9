// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The vault key, wrapped with a passphrase or a recovery code; stored in the vault directory for use on any device.
///
/// Magic (8) ‖ format (2) ‖ kind (1) ‖ vault ID (16) ‖ test (1) ‖ slot ID (16) ‖ key ID (16) ‖ log2 N (1) ‖ r (1) ‖ p
/// (1) ‖ salt (32) ‖ wrapped key (12 + 32 + 16) ‖ HMAC-SHA256 of the preceding bytes under the vault key (32) ‖ SHA-256
/// of the preceding bytes (32). Everything before the wrapped key is its associated data. The checksum distinguishes
/// damage from a wrong secret. The HMAC lets a holder of the vault key detect a slot that a sync server forged.
struct PortableSlot: Equatable, Sendable {
    /// Kinds of secrets that open a slot.
    enum Kind: UInt8, Sendable {
        case passphrase = 2
        case recoveryCode = 3
    }

    /// Length in bytes.
    static let length = 95 + 60 + 32 + 32

    private static let magic = Array("HYBVSLOT".utf8)
    private static let labels: [Kind: [UInt8]] = [
        .passphrase: Array("slot v1 passphrase".utf8), .recoveryCode: Array("slot v1 recovery".utf8),
    ]
    private static let macLabel = Array("slot v1 made".utf8)

    let kind: Kind
    let identity: VaultIdentity
    /// Slot ID: 16 random bytes.
    let id: [UInt8]
    /// ID of the wrapped vault key.
    let keyID: VaultKeyID
    let scrypt: Scrypt
    private let salt: [UInt8]
    private let wrapped: [UInt8]
    private let mac: [UInt8]

    /// File name: the slot ID in hexadecimal.
    var fileName: String { Hex.encode(id) }

    /// Creates a slot that wraps a vault key; slow by design.
    ///
    /// - Throws: ``VaultError/outOfMemory`` if there is not enough memory for scrypt.
    init(
        wrapping vaultKey: SymmetricKey,
        secret: PortableSecret,
        identity: VaultIdentity,
        scrypt: Scrypt,
        id: [UInt8] = .random(16),
        salt: [UInt8] = .random(32),
        nonce: [UInt8]? = nil
    ) throws(VaultError) {
        kind = secret.kind
        self.identity = identity
        self.id = id
        keyID = VaultKeyID(of: vaultKey, identity: identity)
        self.scrypt = scrypt
        self.salt = salt
        let header = Self.header(kind, identity, id, keyID, scrypt, salt)
        let wrapping = try Self.wrappingKey(secret, identity, scrypt, salt)
        let wrapped = try? vaultKey.withUnsafeBytes {
            try Sealing.seal($0, key: wrapping, associatedData: header, nonce: nonce)
        }
        guard let wrapped else { throw .outOfMemory }
        self.wrapped = wrapped
        let marking = Sealing.derive(vaultKey, identity: identity, info: Self.macLabel)
        mac = Array(HMAC<SHA256>.authenticationCode(for: header + wrapped, using: marking))
    }

    /// Parses a slot; `nil` if its length, checksum or scrypt parameters are wrong, before any slow work is done.
    init?(bytes: [UInt8]) {
        guard var reader = BinaryFieldReader(checksummed: bytes, length: Self.length, magic: Self.magic),
            let kind = reader.take(UInt8.self).flatMap(Kind.init(rawValue:)), let identity = reader.takeIdentity(),
            let id = reader.take(16), let keyID = reader.takeKeyID(),
            let scrypt = reader.takeScrypt(isTest: identity.isTest), let salt = reader.take(32),
            let wrapped = reader.take(60), let mac = reader.take(32)
        else { return nil }
        self.kind = kind
        self.identity = identity
        self.id = id
        self.keyID = keyID
        self.scrypt = scrypt
        self.salt = salt
        self.wrapped = wrapped
        self.mac = mac
    }

    /// Contents of the file.
    var bytes: [UInt8] {
        (Self.header(kind, identity, id, keyID, scrypt, salt) + wrapped + mac).checksummed
    }

    /// Unwraps the vault key; slow by design.
    ///
    /// - Returns: The vault key; `nil` if the slot does not open with this secret.
    /// - Throws: ``VaultError/outOfMemory`` if there is not enough memory for scrypt.
    func unwrapKey(with secret: PortableSecret) throws(VaultError) -> SymmetricKey? {
        guard secret.kind == kind else { return nil }
        let wrapping = try Self.wrappingKey(secret, identity, scrypt, salt)
        let header = Self.header(kind, identity, id, keyID, scrypt, salt)
        let key = try? Sealing.open(wrapped, key: wrapping, associatedData: header) { SymmetricKey(data: $0) }
        guard let key, isAuthentic(under: key), VaultKeyID(of: key, identity: identity) == keyID else { return nil }
        return key
    }

    /// Returns true if the slot was created with this vault key.
    func isAuthentic(under vaultKey: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            mac,
            authenticating: Self.header(kind, identity, id, keyID, scrypt, salt) + wrapped,
            using: Sealing.derive(vaultKey, identity: identity, info: Self.macLabel)
        )
    }

    private static func header(
        _ kind: Kind,
        _ identity: VaultIdentity,
        _ id: [UInt8],
        _ keyID: VaultKeyID,
        _ scrypt: Scrypt,
        _ salt: [UInt8]
    ) -> [UInt8] {
        var header: [UInt8] = .header(magic: magic)
        header += [kind.rawValue] + identity.id + [identity.isTest ? 1 : 0] + id + keyID.bytes
        return header + [scrypt.logN, scrypt.r, scrypt.p] + salt
    }

    private static func wrappingKey(
        _ secret: PortableSecret,
        _ identity: VaultIdentity,
        _ scrypt: Scrypt,
        _ salt: [UInt8]
    ) throws(VaultError) -> SymmetricKey {
        guard let stretched = secret.key.withUnsafeBytes({ scrypt.stretch($0, salt: salt) }) else { throw .outOfMemory }
        return Sealing.derive(stretched, identity: identity, info: labels[secret.kind] ?? [])
    }
}
