// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The next vault key during a rekey, sealed under the current one; stored in the local state only.
///
/// It is written before anything else and removed when all content is sealed under the new key. Its presence means that
/// a rekey must be finished or undone first. Once it is written again as committed, the new key is current. The local
/// state decides this, because a sync server can withhold any file of the vault directory.
///
/// File: magic (8; different when committed) ‖ old key ID (16) ‖ new key sealed under HKDF(old key, salt = vault ID,
/// info = `next key v1`) (12 + 32 + 16). The associated data is the preceding bytes and the vault's identity.
struct PendingVaultKey {
    /// File name in the local state.
    static let fileName = "next"
    /// Length in bytes.
    static let length = 24 + 60

    private static let begun = Array("HYBNEXTK".utf8)
    private static let committed = Array("HYBNEXTC".utf8)
    private static let label = Array("next key v1".utf8)

    /// Returns the contents of the file.
    static func bytes(
        _ new: SymmetricKey,
        under old: SymmetricKey,
        isCommitted: Bool,
        identity: VaultIdentity
    ) throws -> [UInt8] {
        let header = (isCommitted ? committed : begun) + VaultKeyID(of: old, identity: identity).bytes
        let wrapping = Sealing.derive(old, identity: identity, info: label)
        return try header
            + new.withUnsafeBytes {
                try Sealing.seal($0, key: wrapping, associatedData: header + identity.associatedData)
            }
    }

    /// Returns the keys; `nil` if the file is damaged or sealed under a key that is not in the ring.
    static func read(
        _ bytes: [UInt8],
        ring: VaultKeyRing,
        identity: VaultIdentity
    ) -> (old: SymmetricKey, new: SymmetricKey, isCommitted: Bool)? {
        let isCommitted = bytes.starts(with: committed)
        guard bytes.count == length, isCommitted || bytes.starts(with: begun) else { return nil }
        let header = Array(bytes.prefix(24))
        for old in ring.keys
        where VaultKeyID(of: old, identity: identity).bytes == Array(header.suffix(VaultKeyID.length)) {
            let new = try? Sealing.open(
                bytes.dropFirst(24),
                key: Sealing.derive(old, identity: identity, info: label),
                associatedData: header + identity.associatedData
            ) { SymmetricKey(data: $0) }
            if let new { return (old, new, isCommitted) }
        }
        return nil
    }
}
