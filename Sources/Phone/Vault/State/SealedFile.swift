// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The format of a file of the local state that is sealed under a key derived from the vault key.
///
/// File: magic (8) ‖ nonce (12) ‖ ciphertext ‖ tag (16). It is sealed with AES-256-GCM under HKDF(vault key, salt =
/// vault ID, info = label). The associated data is label ‖ format ‖ vault ID ‖ test.
struct SealedFile {
    private let magic: [UInt8]
    private let label: [UInt8]

    /// Creates a format from a magic of 8 ASCII characters and a label.
    init(magic: String, label: String) { (self.magic, self.label) = (Array(magic.utf8), Array(label.utf8)) }

    /// Returns the contents of the file.
    func seal(_ plaintext: [UInt8], key: SymmetricKey, identity: VaultIdentity) throws -> [UInt8] {
        let derived = Sealing.derive(key, identity: identity, info: label)
        return magic + (try Sealing.seal(plaintext, key: derived, associatedData: label + identity.associatedData))
    }

    /// Decrypts a file and passes the plaintext, which is wiped afterwards, to `read`; `nil` if it is not authentic.
    func open<Value>(
        _ bytes: [UInt8],
        key: SymmetricKey,
        identity: VaultIdentity,
        _ read: (UnsafeRawBufferPointer) -> Value?
    ) -> Value? {
        guard bytes.starts(with: magic) else { return nil }
        let opened = try? Sealing.open(
            bytes.dropFirst(magic.count),
            key: Sealing.derive(key, identity: identity, info: label),
            associatedData: label + identity.associatedData,
            read
        )
        return opened ?? nil
    }
}
