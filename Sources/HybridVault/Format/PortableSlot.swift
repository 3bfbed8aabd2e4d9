// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The vault key, wrapped for a passphrase or a recovery code; lives in the vault's directory and opens anywhere.
///
/// Magic (8) ‖ format (2) ‖ kind (1) ‖ vault ID (16) ‖ test (1) ‖ slot ID (16) ‖ key ID (16) ‖ log2 N (1) ‖ r (1) ‖
/// p (1) ‖ salt (32) ‖ wrapped key (12 + 32 + 16) ‖ HMAC-SHA256 of all before under the vault key (32) ‖ SHA-256 of
/// all before (32). Everything before the wrapped key is its associated data. The checksum tells damage from a
/// wrong secret; by the HMAC whoever has the vault key knows a slot that a sync server made up.
struct PortableSlot: Equatable, Sendable {
    /// What opens a slot.
    enum Kind: UInt8, Sendable {
        case passphrase = 2
        case recoveryCode = 3
    }

    /// The only length there is.
    static let length = 95 + 60 + 32 + 32

    private static let magic = Array("HYBVSLOT".utf8)
    private static let labels: [Kind: [UInt8]] = [
        .passphrase: Array("slot v1 passphrase".utf8), .recoveryCode: Array("slot v1 recovery".utf8),
    ]
    private static let madeLabel = Array("slot v1 made".utf8)

    let kind: Kind
    let identity: VaultIdentity
    /// 16 random bytes; in hexadecimal the name of its file.
    let id: [UInt8]
    /// Which vault key is in it.
    let keyID: KeyID
    let scrypt: Scrypt
    private let salt: [UInt8]
    private let wrapped: [UInt8]
    private let made: [UInt8]

    /// The name of its file.
    var fileName: String { Hex.encode(id) }

    /// Wraps a vault key.
    ///
    /// - Throws: When there is not enough memory for scrypt.
    init(
        wrapping vaultKey: SymmetricKey,
        secret: PortableSecret,
        identity: VaultIdentity,
        scrypt: Scrypt,
        id: [UInt8] = RandomBytes.make(16),
        salt: [UInt8] = RandomBytes.make(32),
        nonce: [UInt8]? = nil
    ) throws {
        kind = secret.kind
        self.identity = identity
        self.id = id
        keyID = KeyID(of: vaultKey, identity: identity)
        self.scrypt = scrypt
        self.salt = salt
        let header = Self.header(kind, identity, id, keyID, scrypt, salt)
        let wrapping = try Self.wrappingKey(secret, identity, scrypt, salt)
        let wrapped = try vaultKey.withUnsafeBytes { key in
            let nonce = try nonce.map { try AES.GCM.Nonce(data: $0) } ?? AES.GCM.Nonce()
            let box = try AES.GCM.seal(key, using: wrapping, nonce: nonce, authenticating: header)
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        }
        self.wrapped = wrapped
        made = Self.mark(header + wrapped, vaultKey, identity)
    }

    /// Reads a slot; `nil` for any other length, cost or checksum, before any slow work is done.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.length, Sealing.checksum(Array(bytes.dropLast(32))) == Array(bytes.suffix(32)) else {
            return nil
        }
        var reader = FieldReader(bytes)
        guard reader.take(exactly: Self.magic), reader.take(UInt16.self) == VaultIdentity.format,
            let kind = reader.take(UInt8.self).flatMap(Kind.init(rawValue:)),
            let vault = reader.take(16), let test = reader.take(UInt8.self), test <= 1,
            let id = reader.take(16), let keyID = reader.take(KeyID.length).flatMap(KeyID.init(bytes:)),
            let logN = reader.take(UInt8.self), let r = reader.take(UInt8.self), let p = reader.take(UInt8.self),
            let scrypt = Scrypt(logN: logN, r: r, p: p),
            let salt = reader.take(32), let wrapped = reader.take(60), let made = reader.take(32)
        else { return nil }
        self.kind = kind
        self.identity = VaultIdentity(id: vault, test: test == 1)
        self.id = id
        self.keyID = keyID
        self.scrypt = scrypt
        self.salt = salt
        self.wrapped = wrapped
        self.made = made
    }

    /// The content of the file.
    var bytes: [UInt8] {
        let body = Self.header(kind, identity, id, keyID, scrypt, salt) + wrapped + made
        return body + Sealing.checksum(body)
    }

    /// Unwraps the vault key, which is slow by design; `nil` if the secret is another one.
    ///
    /// - Throws: When there is not enough memory for scrypt.
    func open(with secret: PortableSecret) throws -> SymmetricKey? {
        guard secret.kind == kind else { return nil }
        let wrapping = try Self.wrappingKey(secret, identity, scrypt, salt)
        let header = Self.header(kind, identity, id, keyID, scrypt, salt)
        let key = try? Sealing.open(wrapped, key: wrapping, associatedData: header) { SymmetricKey(data: $0) }
        guard let key, isMade(with: key), KeyID(of: key, identity: identity) == keyID else { return nil }
        return key
    }

    /// Whether somebody who had this vault key made it.
    func isMade(with vaultKey: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            made,
            authenticating: Self.header(kind, identity, id, keyID, scrypt, salt) + wrapped,
            using: Sealing.derive(vaultKey, identity: identity, info: Self.madeLabel)
        )
    }

    private static func mark(_ body: [UInt8], _ key: SymmetricKey, _ identity: VaultIdentity) -> [UInt8] {
        let marking = Sealing.derive(key, identity: identity, info: madeLabel)
        return Array(HMAC<SHA256>.authenticationCode(for: body, using: marking))
    }

    private static func header(
        _ kind: Kind,
        _ identity: VaultIdentity,
        _ id: [UInt8],
        _ keyID: KeyID,
        _ scrypt: Scrypt,
        _ salt: [UInt8]
    ) -> [UInt8] {
        var header = magic
        header.append(bigEndian: VaultIdentity.format)
        header += [kind.rawValue] + identity.id + [identity.test ? 1 : 0] + id + keyID.bytes
        return header + [scrypt.logN, scrypt.r, scrypt.p] + salt
    }

    private static func wrappingKey(
        _ secret: PortableSecret,
        _ identity: VaultIdentity,
        _ scrypt: Scrypt,
        _ salt: [UInt8]
    ) throws -> SymmetricKey {
        let stretched = try secret.withUnsafeBytes { try scrypt.stretch($0, salt: salt) }
        return Sealing.derive(stretched, identity: identity, info: labels[secret.kind] ?? [])
    }
}
