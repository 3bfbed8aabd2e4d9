// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The next vault key, while a rekeying goes on; sealed under the one before, in the local state only.
///
/// It is written before the link that makes the new key count and removed when everything is sealed under it, so
/// it is also the mark that says: finish this first.
///
/// File: magic (8) ‖ old key ID (16) ‖ new key sealed under HKDF(old key, salt = vault ID, info = `next key v1`)
/// (12 + 32 + 16), associated data = all before and the vault's identity.
struct PendingKey {
    /// Name of the file in the local state.
    static let fileName = "next"
    /// The only length there is.
    static let length = 24 + 60

    private static let magic = Array("HYBNEXTK".utf8)
    private static let label = Array("next key v1".utf8)

    /// The content of the file.
    static func bytes(_ new: SymmetricKey, under old: SymmetricKey, identity: VaultIdentity) throws -> [UInt8] {
        let header = magic + KeyID(of: old, identity: identity).bytes
        let wrapping = Sealing.derive(old, identity: identity, info: label)
        return try new.withUnsafeBytes { key in
            let box = try AES.GCM.seal(key, using: wrapping, authenticating: header + identity.associatedData)
            return header + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        }
    }

    /// The next key; `nil` when the file is damaged or under a key that is not in the ring.
    static func read(
        _ bytes: [UInt8],
        ring: KeyRing,
        identity: VaultIdentity
    ) -> (old: SymmetricKey, new: SymmetricKey)? {
        guard bytes.count == length, bytes.starts(with: magic) else { return nil }
        let header = Array(bytes.prefix(24))
        for old in ring.keys where KeyID(of: old, identity: identity).bytes == Array(header.suffix(KeyID.length)) {
            let new = try? Sealing.open(
                bytes.dropFirst(24),
                key: Sealing.derive(old, identity: identity, info: label),
                associatedData: header + identity.associatedData
            ) { SymmetricKey(data: $0) }
            if let new { return (old, new) }
        }
        return nil
    }
}
