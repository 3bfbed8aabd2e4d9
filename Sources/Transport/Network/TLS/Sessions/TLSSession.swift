// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A TLS 1.3 session of an earlier connection (RFC 8446 §2.2): the server's ticket, its secret and the certificates that
/// were verified.
///
/// A session is used once, because the server or an observer could otherwise link the connections (RFC 8446 §C.4).
struct TLSSession: Sendable, SecretMaterial {
    /// Maximum length in bytes, most of which the certificates take up.
    static let maximumLength = 16 << 10

    // Wiped on release.
    private let key: SymmetricKey

    /// Creates a session from BoringSSL's serialization; `nil` if it is empty or longer than ``maximumLength``.
    init?(bytes: UnsafeRawBufferPointer) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// Calls `body` with BoringSSL's serialization of the session.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        key.withUnsafeBytes(body)
    }
}
