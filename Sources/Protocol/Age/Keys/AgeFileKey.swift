// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The key of one age file, 16 secret bytes, which each stanza of the file contains for one recipient.
package struct AgeFileKey: RandomlyChosenBytes, SecretMaterial, Sendable {
    /// Length in bytes.
    package static let length = 16

    private let key: SymmetricKey

    /// Creates a value from bytes whose length has been checked.
    package init(checked bytes: some Collection<UInt8>) { key = SymmetricKey(data: Array(bytes)) }

    /// A copy of the secret bytes, which is not wiped.
    package var bytes: [UInt8] { key.withUnsafeBytes { Array($0) } }

    /// Returns a key for one purpose.
    func derived(salt: [UInt8], info: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key,
            salt: salt,
            info: Array(info.utf8),
            outputByteCount: SHA256.byteCount
        )
    }

    /// Returns the code of a header.
    func mac(of header: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: header, using: derived(salt: [], info: "header")))
    }

    /// Returns the body of a stanza: the file key, encrypted with a key that is used once.
    func wrapped(with key: SymmetricKey) -> [UInt8]? {
        guard let nonce = Self.zeroNonce, let box = try? ChaChaPoly.seal(bytes, using: key, nonce: nonce) else {
            return nil
        }
        return Array(box.ciphertext) + Array(box.tag)
    }

    /// Length of the body of a stanza in bytes.
    static let wrappedLength = 32

    /// Opens the body of a stanza; `nil` for another key.
    init?(wrapped body: [UInt8], key: SymmetricKey) {
        guard body.count == Self.wrappedLength, let nonce = Self.zeroNonce,
            let box = try? ChaChaPoly.SealedBox(
                nonce: nonce,
                ciphertext: body[..<Self.length],
                tag: body[Self.length...]
            ), let bytes = try? ChaChaPoly.open(box, using: key)
        else { return nil }
        self.key = SymmetricKey(data: bytes)
    }

    private static var zeroNonce: ChaChaPoly.Nonce? { try? ChaChaPoly.Nonce(data: [UInt8](repeating: 0, count: 12)) }
}
