// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// The key of a store, released for one request by a service that has verified the user itself.
public struct StoreKey: SecretMaterial, Sendable {
    /// Length in bytes.
    public static let length = 32

    private let key: SymmetricKey

    /// Creates a key from exactly 32 bytes; `nil` for any other length.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.length else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// Calls `body` with the bytes, which must not be copied to memory that is not wiped.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }
}

/// The proof that the user was verified, which also opens the store.
public enum UserVerification: Sendable {
    /// The PIN that the user typed.
    case pin(PIN)
    /// The key that another verification, such as a fingerprint, released for this request.
    case key(StoreKey)
}
