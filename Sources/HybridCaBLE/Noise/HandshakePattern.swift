// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The two Noise patterns of hybrid transports.
enum HandshakePattern {
    /// `KNpsk0`: the responder knows the initiator's static key, because it stood in the QR.
    case qr
    /// `NKpsk0`: the initiator knows the responder's static key, because the phone was linked before.
    case linked

    /// The state after prologue, pre-message and pre-shared key, which both ends reach on their own.
    func start(staticKey: P256.KeyAgreement.PublicKey, psk: PSK) -> SymmetricState {
        var state: SymmetricState
        switch self {
        case .qr:
            state = SymmetricState(protocolName: "Noise_KNpsk0_P256_AESGCM_SHA256")
            state.mixHash([1])
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
    /// Noise's token `e` in a pattern with a pre-shared key: the point goes into hash and key.
    mutating func mixEphemeral(_ point: [UInt8]) {
        mixHash(point)
        mixKey(SymmetricKey(data: point))
    }

    /// A Diffie-Hellman token; the material is the 32-byte X coordinate.
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
    /// An uncompressed point that must lie on the curve.
    init(handshakePoint bytes: [UInt8]) throws(HandshakeError) {
        do {
            self = try P256.KeyAgreement.PublicKey(x963Representation: bytes)
        } catch {
            throw .invalidPoint
        }
    }
}
