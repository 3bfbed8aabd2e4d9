// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The opaque bytes that a vault makes for its new device, with its key; wiped on release.
package struct VaultMaterial: SecretMaterial, Sendable {
    /// Maximum length in bytes.
    package static let maximumLength = 512 << 10

    private let bytes: SymmetricKey

    /// Creates a copy of bytes; `nil` if there are none, or more than ``maximumLength``.
    package init?(copying bytes: UnsafeRawBufferPointer) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        self.bytes = SymmetricKey(data: bytes)
    }

    /// Calls `body` with the bytes, which must not be copied to memory that is not wiped.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes(body)
    }
}
