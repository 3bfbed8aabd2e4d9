// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// Noise's symmetric state for the suite of the hybrid transport: P-256, AES-256-GCM, SHA-256.
///
/// Handshake payloads are empty. In both patterns, `MixKey` precedes each encryption, so each key is used once and the
/// nonce is always zero.
struct SymmetricState {
    /// The handshake hash `h`, which becomes the channel binding.
    private(set) var hash: [UInt8]
    private(set) var chainingKey: SymmetricKey
    private(set) var key: SymmetricKey?

    /// Creates a state from a protocol name of at most 32 bytes, which is padded with zeros.
    init(protocolName: StaticString) {
        var name = protocolName.withUTF8Buffer { Array($0) }
        precondition(name.count <= 32, "The names of both patterns have at most 32 bytes; Noise hashes longer ones")
        name += [UInt8](repeating: 0, count: 32 - name.count)
        self.hash = name
        self.chainingKey = SymmetricKey(data: name)
    }

    mutating func mixHash(_ data: [UInt8]) {
        hash = Array(SHA256.hash(data: hash + data))
    }

    mutating func mixKey(_ material: SymmetricKey) {
        let output = expand(material, length: 64)
        chainingKey = output.part(0..<32)
        key = output.part(32..<64)
    }

    mutating func mixKeyAndHash(_ material: SymmetricKey) {
        let output = expand(material, length: 96)
        chainingKey = output.part(0..<32)
        mixHash(output.part(32..<64).withUnsafeBytes { Array($0) })
        key = output.part(64..<96)
    }

    /// Encrypts an empty payload and returns the 16-byte tag.
    mutating func sealEmptyPayload() throws(HandshakeError) -> [UInt8] {
        guard let key else { throw .outOfOrder }
        do {
            let box = try AES.GCM.seal([UInt8](), using: key, nonce: Self.zeroNonce(), authenticating: hash)
            let tag = Array(box.tag)
            self.key = nil
            mixHash(tag)
            return tag
        } catch {
            throw .outOfOrder
        }
    }

    /// Verifies the 16-byte tag of an empty payload.
    mutating func openEmptyPayload(_ tag: [UInt8]) throws(HandshakeError) {
        guard let key else { throw .outOfOrder }
        // CryptoKit's error cases differ between platforms, so all of them are treated as a failed verification.
        do {
            let box = try AES.GCM.SealedBox(nonce: Self.zeroNonce(), ciphertext: [UInt8](), tag: tag)
            _ = try AES.GCM.open(box, using: key, authenticating: hash)
        } catch {
            throw .notAuthentic
        }
        self.key = nil
        mixHash(tag)
    }

    /// Returns the two traffic keys, 32 bytes each.
    func split() -> (initiatorToResponder: SymmetricKey, responderToInitiator: SymmetricKey) {
        let output = expand(SymmetricKey(data: [UInt8]()), length: 64)
        return (output.part(0..<32), output.part(32..<64))
    }

    private func expand(_ material: SymmetricKey, length: Int) -> SymmetricKey {
        chainingKey.withUnsafeBytes { salt in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material,
                salt: salt,
                info: [UInt8](),
                outputByteCount: length
            )
        }
    }

    private static func zeroNonce() throws -> AES.GCM.Nonce {
        try AES.GCM.Nonce(data: [UInt8](repeating: 0, count: 12))
    }
}
