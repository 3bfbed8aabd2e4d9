// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// 128 random bits that authorize access to the page: the token in its first address, or the cookie.
///
/// The bits are compared in constant time, wiped on release and never printed.
struct PageToken: Equatable, Sendable, SecretMaterial {
    private static let byteCount = 16

    private let key: SymmetricKey

    /// Creates a random key.
    init() { key = SymmetricKey(size: .bits128) }

    /// Creates a key from 32 lower-case hexadecimal digits; `nil` for any other text.
    init?(hexadecimal text: some StringProtocol) {
        guard let bytes = Hex.decode(text, length: Self.byteCount, lowercaseOnly: true) else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// The key as 32 lower-case hexadecimal digits, which are as secret as the key.
    var hexadecimal: String { key.withUnsafeBytes { Hex.encode($0) } }
}

/// The address of the page: `http://127.0.0.1:PORT/open/TOKEN`.
///
/// The address is as secret as the token and is printed only with ``text``.
package struct PageAddress: Sendable, SecretMaterial {
    let origin: String
    let token: PageToken

    /// The address, for the browser, or for the user if no browser can be opened; this copy is not wiped.
    package var text: String { origin + PageResponder.tokenPath + token.hexadecimal }
}
