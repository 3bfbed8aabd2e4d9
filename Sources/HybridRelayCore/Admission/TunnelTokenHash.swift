// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCaBLE
public import HybridPrimitives

/// A token from an `Authorization` field, of which only the SHA-256 is kept.
public struct BearerToken: Hashable, Sendable {
    /// Longest value of an `Authorization` field that is read, in bytes.
    public static let maximumFieldLength = 512

    /// SHA-256 of the token, in four words.
    let digest: SIMD4<UInt64>

    /// Takes a token of the characters that RFC 6750 §2.1 allows; `nil` if there are others, or none.
    public init?(_ token: some Collection<UInt8>) {
        let body = token.reversed().drop { $0 == UInt8(ascii: "=") }
        guard !body.isEmpty, body.allSatisfy(\.isInTokens) else { return nil }
        digest = Self.words(SHA256.hash(data: Array(token)))
    }

    /// 32 bytes as four words.
    static func words(_ bytes: some Sequence<UInt8>) -> SIMD4<UInt64> {
        var words = SIMD4<UInt64>()
        for (index, byte) in bytes.prefix(32).enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        return words
    }
}

extension BearerToken: SecretMaterial {}

/// What a request brings in `Authorization`.
enum BearerCredentials: Hashable, Sendable {
    /// Nothing, or something for another scheme.
    case absent
    /// A token.
    case token(BearerToken)
    /// The scheme is right, but no token that could be follows.
    case malformed
    /// More than one field, of which nobody can tell which counts.
    case repeated

    /// Reads the values of all `Authorization` fields (RFC 6750 §2.1); the scheme's letters may have either case.
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
        } else if field.count <= BearerToken.maximumFieldLength,
            let token = BearerToken(field[scheme.endIndex...].drop { $0 == UInt8(ascii: " ") })
        {
            self = .token(token)
        } else {
            self = .malformed
        }
    }
}

extension UInt8 {
    /// A character of `b64token`, but for the padding at its end.
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
