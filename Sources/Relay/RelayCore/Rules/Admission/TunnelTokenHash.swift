// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// The SHA-256 hash of a token from an `Authorization` header field.
///
/// The token itself is not kept.
public struct TunnelTokenHash: Hashable, Sendable, SecretMaterial {
    /// Maximum length of the value of an `Authorization` field, in bytes.
    public static let maximumFieldLength = 512

    /// The hash as four words.
    let digest: SIMD4<UInt64>

    /// Creates the hash of a token; `nil` if the token is empty or has characters that RFC 6750 §2.1 does not allow.
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

    /// Reads the token from the values of all `Authorization` fields (RFC 6750 §2.1).
    ///
    /// The case of the scheme is ignored. More than one field is refused as ambiguous.
    ///
    /// - Returns: The hash of the token, or `nil` if there is no field or the credentials have another scheme.
    static func bearerToken(in fields: [ArraySlice<UInt8>]) -> Result<TunnelTokenHash?, UpgradeRefusal> {
        guard let field = fields.first else { return .success(nil) }
        guard fields.count == 1 else { return .failure(.duplicateField) }
        let scheme = field.prefix { $0 != UInt8(ascii: " ") }
        guard scheme.equalsIgnoringCase("bearer") else { return .success(nil) }
        let token = field[scheme.endIndex...].drop { $0 == UInt8(ascii: " ") }
        guard field.count <= maximumFieldLength, let hash = TunnelTokenHash(hashing: token) else {
            return .failure(.tokenWrong)
        }
        return .success(hash)
    }
}

extension UInt8 {
    /// True for a character of `b64token` other than the padding.
    fileprivate var isInTokens: Bool { isLetter || isDigit || "-._~+/".utf8.contains(self) }
}
