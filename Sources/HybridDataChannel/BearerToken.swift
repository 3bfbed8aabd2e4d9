// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCaBLE
public import HybridPrimitives

/// The word by which a relay knows who may open tunnels; printable ASCII without spaces.
///
/// Wiped on release, compared in constant time, and never printed. Its text is there as bytes alone, for as long as a
/// request is written, because what is once a String can't be wiped.
public struct BearerToken: Sendable, SecretMaterial, Equatable {
    /// Longest token, in bytes.
    public static let maximumLength = 512

    private let key: SymmetricKey

    /// Takes 1 to 512 characters of RFC 6750's `b68token`; anything else is `nil`.
    ///
    /// The caller's copy is as secret.
    public init?(_ text: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(text.count), text.allSatisfy(Self.isInTokens) else { return nil }
        // Without a copy on the way, where the bytes lie in one piece.
        key =
            text.withContiguousStorageIfAvailable { SymmetricKey(data: UnsafeRawBufferPointer($0)) }
            ?? SymmetricKey(data: Array(text))
    }

    private static func isInTokens(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// The text's bytes, which must not leave the closure but into a request.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }

    /// Whether two are the same, in constant time.
    public static func == (left: Self, right: Self) -> Bool { left.key == right.key }
}
