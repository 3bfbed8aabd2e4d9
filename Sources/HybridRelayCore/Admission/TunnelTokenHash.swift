// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// SHA-256 of a token from an `Authorization` header field.
///
/// The token itself is not kept.
public struct TunnelTokenHash: Hashable, Sendable, SecretMaterial {
    /// Longest `Authorization` field value that is read, in bytes.
    public static let maximumFieldLength = 512

    /// The hash, in four words.
    let digest: SIMD4<UInt64>

    /// Hashes a token of the characters that RFC 6750 §2.1 allows; `nil` if it has others or is empty.
    public init?(hashing token: some Collection<UInt8>) {
        let body = token.reversed().drop { $0 == UInt8(ascii: "=") }
        guard !body.isEmpty, body.allSatisfy(\.isInTokens) else { return nil }
        digest = Self.words(SHA256.hash(data: Array(token)))
    }

    /// Returns 32 bytes as four words.
    static func words(_ bytes: some Sequence<UInt8>) -> SIMD4<UInt64> {
        var words = SIMD4<UInt64>()
        for (index, byte) in bytes.prefix(32).enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        return words
    }
}

/// Contents of a request's `Authorization` header fields.
enum BearerCredentials: Hashable, Sendable {
    /// No field, or credentials of another scheme.
    case absent
    /// A token.
    case token(TunnelTokenHash)
    /// The scheme is right, but no well-formed token follows.
    case malformed
    /// More than one field, so the valid one is ambiguous.
    case repeated

    /// Reads the values of all `Authorization` fields (RFC 6750 §2.1).
    ///
    /// The scheme is not case-sensitive.
    init(fields: [ArraySlice<UInt8>]) {
        guard let field = fields.first else {
            self = .absent
            return
        }
        let scheme = field.prefix { $0 != UInt8(ascii: " ") }
        if fields.count > 1 {
            self = .repeated
        } else if !scheme.equalsIgnoringCase("bearer") {
            self = .absent
        } else if field.count <= TunnelTokenHash.maximumFieldLength,
            let token = TunnelTokenHash(hashing: field[scheme.endIndex...].drop { $0 == UInt8(ascii: " ") })
        {
            self = .token(token)
        } else {
            self = .malformed
        }
    }
}

extension UInt8 {
    /// True for a character of `b64token` other than the padding.
    fileprivate var isInTokens: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
