// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A Noise pattern of the hybrid transport.
enum HandshakePattern {
    /// `KNpsk0`: the responder knows the initiator's static key from the QR code.
    ///
    /// The prologue depends on the ceremony, so that no message of a sign-in is valid in a transfer.
    case qr(CodeCeremony)
    /// `NKpsk0`: the initiator knows the responder's static key from linking information.
    case linked

    /// Returns the state after the prologue, the pre-message and the pre-shared key, which both ends share.
    func start(staticKey: P256.KeyAgreement.PublicKey, psk: PSK) -> SymmetricState {
        var state: SymmetricState
        switch self {
        case .qr(let ceremony):
            state = SymmetricState(protocolName: "Noise_KNpsk0_P256_AESGCM_SHA256")
            state.mixHash(ceremony.prologue)
        case .linked:
            state = SymmetricState(protocolName: "Noise_NKpsk0_P256_AESGCM_SHA256")
            state.mixHash([0])
        }
        state.mixHash(Array(staticKey.x963Representation))
        state.mixKeyAndHash(psk.key)
        return state
    }
}

extension SymmetricState {
    /// Processes the Noise token `e` of a pattern with a pre-shared key.
    ///
    /// In such a pattern, the ephemeral key is mixed into the hash and into the chaining key.
    mutating func mixEphemeral(_ point: [UInt8]) {
        mixHash(point)
        mixKey(SymmetricKey(data: point))
    }

    /// Processes a Diffie-Hellman token: mixes the 32-byte X coordinate of the shared point into the chaining key.
    mutating func mixShared(
        _ own: P256.KeyAgreement.PrivateKey,
        _ peer: P256.KeyAgreement.PublicKey
    ) throws(HandshakeError) {
        do {
            let shared = try own.sharedSecretFromKeyAgreement(with: peer)
            mixKey(shared.withUnsafeBytes { SymmetricKey(data: $0) })
        } catch {
            throw .invalidPoint
        }
    }
}

extension P256.KeyAgreement.PublicKey {
    /// Creates a key from an uncompressed point, which must be on the curve.
    init(handshakePoint bytes: [UInt8]) throws(HandshakeError) {
        do {
            self = try P256.KeyAgreement.PublicKey(x963Representation: bytes)
        } catch {
            throw .invalidPoint
        }
    }
}
