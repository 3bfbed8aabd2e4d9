// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCaBLE
internal import HybridPrimitives

/// Six digits that both screens show, so that their users notice a stranger between the two devices.
///
/// A stranger who scans the code first, and shows a code of its own to the giver, has two sessions with different handshake
/// hashes. Six digits alone would not stop it: it could repeat the second handshake a million times until the digits
/// happened to be equal. Therefore the digits also depend on a nonce of each side, and the receiver commits itself to its
/// nonce before it knows the giver's. When the stranger learns a nonce, its own one is already fixed, so it has one attempt
/// in a million, and the users see each failure.
package struct TransferDigits: Hashable, Sendable, CustomStringConvertible {
    private static let limit: UInt64 = 1_000_000

    private let number: UInt64

    /// Creates the digits of a session.
    init(_ binding: TransferBinding) {
        let bytes = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: binding.hash.bytes),
            salt: binding.receiver.bytes + binding.giver.bytes,
            info: Array("hybrid transfer v1 digits".utf8),
            outputByteCount: 8
        )
        number = bytes.withUnsafeBytes { $0.reduce(0 as UInt64) { $0 << 8 | UInt64($1) } } % Self.limit
    }

    /// The six digits in two groups, such as `042 117`.
    package var description: String {
        let digits = String(Self.limit + number).dropFirst()
        return "\(digits.prefix(3)) \(digits.dropFirst(3))"
    }
}

/// The values that only one session has: its handshake hash, and the nonces of both sides.
struct TransferBinding: Hashable, Sendable {
    let hash: HandshakeHash
    let receiver: TransferNonce
    let giver: TransferNonce

    /// The 96 bytes that payloads are sealed for.
    var bytes: [UInt8] { hash.bytes + receiver.bytes + giver.bytes }

    /// Returns the tag of a vault in this session.
    func tag(of vault: TransferVault) -> VaultTag {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("hybrid transfer v1 vault".utf8) + bytes,
            using: SymmetricKey(data: vault.id)
        )
        return VaultTag(checked: Array(code))
    }
}

/// A random value that one side adds to the digits.
struct TransferNonce: RandomlyChosenBytes, Hashable, Sendable {
    static let length = 32

    let bytes: [UInt8]

    init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// The commitment to this nonce.
    var commitment: NonceCommitment { NonceCommitment(checked: Array(SHA256.hash(data: bytes))) }
}

/// The SHA-256 of a nonce, which its sender can't exchange any more.
struct NonceCommitment: FixedLengthBytes, Hashable, Sendable {
    static let length = 32

    let bytes: [UInt8]

    init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}

/// A hash of a vault's ID that differs in each session, so that only a device with the same vault recognizes it.
struct VaultTag: FixedLengthBytes, Hashable, Sendable {
    static let length = 32

    let bytes: [UInt8]

    init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}
