// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridPrimitives

/// Everything with which another device becomes a device of the same vault: its key, its ID, and what its records must be.
///
/// Magic (8) ‖ format (2) ‖ vault ID (16) ‖ test (1) ‖ vault key (32) ‖ a file ``SeenRevisions``. It exists only in the
/// memory of both devices, and sealed for one of them between both.
package struct VaultKeyMaterial: SecretMaterial, Sendable {
    /// Maximum length in bytes.
    package static let maximumLength = headerLength + SeenRevisions.maximumLength

    private static let magic = Array("HYBVJOIN".utf8)
    private static let headerLength = 8 + 2 + 17 + 32

    let identity: VaultIdentity
    let key: SymmetricKey
    let seen: SeenRevisions

    init(identity: VaultIdentity, key: SymmetricKey, seen: SeenRevisions) {
        (self.identity, self.key, self.seen) = (identity, key, seen)
    }

    /// Parses the bytes from the other device; `nil` if they are malformed or the seen revisions are not authentic.
    package init?(_ bytes: SecretBytes) {
        guard bytes.memory.count <= Self.maximumLength else { return nil }
        let memory = UnsafeRawBufferPointer(bytes.memory)
        guard memory.count > Self.headerLength else { return nil }
        let keyStart = Self.headerLength - 32
        guard var reader = BinaryFieldReader(memory[..<keyStart], magic: Self.magic),
            let identity = reader.takeIdentity()
        else { return nil }
        let key = SymmetricKey(data: UnsafeRawBufferPointer(rebasing: memory[keyStart..<Self.headerLength]))
        let rest = Array(memory[Self.headerLength...])
        guard let seen = SeenRevisions(bytes: rest, key: key, identity: identity) else { return nil }
        self.init(identity: identity, key: key, seen: seen)
    }

    /// The bytes for the other device; `nil` if the seen revisions cannot be sealed.
    package var bytes: SecretBytes? {
        guard let sealed = try? seen.bytes(key: key, identity: identity) else { return nil }
        var front: [UInt8] = .header(magic: Self.magic)
        front += identity.id + [identity.isTest ? 1 : 0]
        let bytes = SecretBytes(count: front.count + 32 + sealed.count)
        UnsafeMutableRawBufferPointer(rebasing: bytes.memory[..<front.count]).copyBytes(from: front)
        key.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: bytes.memory[front.count..<(front.count + 32)]).copyMemory(from: $0)
        }
        UnsafeMutableRawBufferPointer(rebasing: bytes.memory[(front.count + 32)...]).copyBytes(from: sealed)
        return bytes
    }

    /// Vault ID: 32 hexadecimal digits.
    package var vault: String { identity.name }
    /// True for a test vault.
    package var isTest: Bool { identity.isTest }
    /// Number of records of the vault that are not deleted.
    package var count: Int { seen.entries.values.count { !$0.isDeleted } }
    /// Fingerprint of the vault key, which the user compares.
    package var fingerprint: VaultKeyFingerprint {
        VaultKeyFingerprint(of: VaultKeyID(of: key, identity: identity), identity: identity)
    }
}
