// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// 128 random bits that open the page: the token of its first address, or the cookie.
///
/// Compared in constant time, wiped on release and never printed.
struct PageKey: Equatable, Sendable, SecretMaterial {
    private static let byteCount = 16

    private let key: SymmetricKey

    /// Creates a random key.
    init() { key = SymmetricKey(size: .bits128) }

    /// Reads 32 lower-case hexadecimal digits; `nil` for anything else.
    init?(hexadecimal text: some StringProtocol) {
        guard let bytes = Hex.decode(text, length: Self.byteCount, lowercaseOnly: true) else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// The 32 digits, which are as secret as the key.
    var hexadecimal: String { key.withUnsafeBytes { Hex.encode($0) } }
}

/// The address of the page: `http://127.0.0.1:PORT/open/TOKEN`.
///
/// It is as secret as the token, and printed only through ``text``.
public struct PageAddress: Sendable, SecretMaterial {
    let origin: String
    let token: PageKey

    /// The address, for a browser or, without one, for the user; the copy is not wiped.
    public var text: String { origin + PageResponder.tokenPath + token.hexadecimal }
}
