// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// Six digits that both ends of a session show when one offers a link, so that their users can compare them.
///
/// A stranger's device that answers a visible code has another session with the client, and so the user's own phone
/// does not show its digits.
public struct LinkCode: Hashable, Sendable, CustomStringConvertible {
    private static let limit: UInt64 = 1_000_000

    private let number: UInt64

    /// Creates the code of the session with this handshake hash.
    public init(_ hash: HandshakeHash) {
        let bytes = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: hash.bytes),
            info: Array("hybrid link code v1".utf8),
            outputByteCount: 8
        )
        number = bytes.withUnsafeBytes { $0.reduce(0 as UInt64) { $0 << 8 | UInt64($1) } } % Self.limit
    }

    /// The six digits in two groups, such as `042 117`.
    public var description: String {
        let digits = String(Self.limit + number).dropFirst()
        return "\(digits.prefix(3)) \(digits.dropFirst(3))"
    }
}
