// SPDX-License-Identifier: Apache-2.0

/// A short form of a vault key that users compare between devices: six groups of five digits.
///
/// Each group is five bytes of SHA-256(`key fingerprint v1` ‖ vault ID ‖ key ID), as a number modulo 100,000. A key ID is
/// no secret, so neither is a fingerprint. To find another key with the same one takes about 2^99 attempts.
package struct VaultKeyFingerprint: Hashable, Sendable, CustomStringConvertible {
    private static let label = Array("key fingerprint v1".utf8)
    private static let groups = 6
    private static let groupLength = 5

    /// The groups, separated by spaces.
    package let description: String

    /// Computes the fingerprint of the key with an ID.
    init(of key: VaultKeyID, identity: VaultIdentity) {
        let hash = Sealing.checksum(Self.label + identity.id + key.bytes)
        let groups = (0..<Self.groups).map { index in
            let start = index * Self.groupLength
            let number = hash[start..<(start + Self.groupLength)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let digits = String(number % 100_000)
            return String(repeating: "0", count: Self.groupLength - digits.utf8.count) + digits
        }
        description = groups.joined(separator: " ")
    }
}
