// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// A token that authorizes requests (RFC 6750), such as those for new tunnels: ASCII letters, digits and `-._~+/=`.
///
/// The token is wiped on release, compared in constant time, and never printed. Its text is available only as bytes,
/// while a request is written, because a `String` cannot be wiped.
public struct BearerToken: Sendable, SecretMaterial, Equatable {
    /// Maximum length in bytes.
    public static let maximumLength = 512

    private let key: SymmetricKey

    /// Creates a token from 1 to 512 of the characters that RFC 6750 allows in a `b64token`; `nil` for other text.
    ///
    /// The caller's copy is just as secret, so the caller should wipe it.
    public init?(_ text: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(text.count), text.allSatisfy(Self.isAllowed) else { return nil }
        // This makes no intermediate copy of contiguous bytes.
        key =
            text.withContiguousStorageIfAvailable { SymmetricKey(data: UnsafeRawBufferPointer($0)) }
            ?? SymmetricKey(data: Array(text))
    }

    private static func isAllowed(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~+/=".utf8.contains(character)
        }
    }

    /// Calls `body` with the token's bytes, which must not be copied except into a request.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }

    /// Returns true if both tokens are equal; the comparison takes constant time.
    public static func == (left: Self, right: Self) -> Bool { left.key == right.key }
}
