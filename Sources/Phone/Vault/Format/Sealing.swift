// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials

/// Authenticated encryption with AES-256-GCM and a random 96-bit nonce, which precedes the ciphertext.
enum Sealing {
    /// Length of the nonce, in bytes.
    static let nonceLength = 12
    /// Length of the tag, in bytes.
    static let tagLength = 16

    /// A failure to decrypt, without a cause, so that it reveals nothing.
    struct OpeningFailure: Error {}

    /// Returns nonce ‖ ciphertext ‖ tag.
    static func seal(
        _ plaintext: some DataProtocol,
        key: SymmetricKey,
        associatedData: [UInt8],
        nonce: [UInt8]? = nil
    ) throws -> [UInt8] {
        let nonce = try nonce.map { try AES.GCM.Nonce(data: $0) } ?? AES.GCM.Nonce()
        let box = try AES.GCM.seal(plaintext, using: key, nonce: nonce, authenticating: associatedData)
        return Array(nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// Decrypts nonce ‖ ciphertext ‖ tag and passes the plaintext, which is wiped afterwards, to `body`.
    static func open<Value>(
        _ sealed: some Collection<UInt8>,
        key: SymmetricKey,
        associatedData: [UInt8],
        _ body: (UnsafeRawBufferPointer) -> Value
    ) throws(OpeningFailure) -> Value {
        let sealed = Array(sealed)
        guard sealed.count >= nonceLength + tagLength else { throw OpeningFailure() }
        var plaintext: Data
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: sealed[..<nonceLength]),
                ciphertext: sealed[nonceLength..<(sealed.count - tagLength)],
                tag: sealed[(sealed.count - tagLength)...]
            )
            plaintext = try AES.GCM.open(box, using: key, authenticating: associatedData)
        } catch {
            throw OpeningFailure()
        }
        defer { plaintext.resetBytes(in: 0..<plaintext.count) }
        return plaintext.withUnsafeBytes(body)
    }

    /// Derives the key for one purpose from the vault key: HKDF-SHA256, salt = vault ID.
    static func derive(_ key: SymmetricKey, identity: VaultIdentity, info: [UInt8]) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key, salt: identity.id, info: info, outputByteCount: 32)
    }

    /// Returns the SHA-256, which protects local files against accidents, not against attackers.
    static func checksum(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}
