// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCTAP
public import HybridPrimitives

/// The secret of a passkey's `prf` outputs: 32 random bytes, wiped on release.
///
/// CTAP calls it *CredRandomWithUV*. There is no *CredRandomWithoutUV*, because every user is verified.
public struct PRFSecret: SecretMaterial, Sendable {
    /// Length in bytes.
    public static let length = 32

    private let key: SymmetricKey

    /// Creates a secret from exactly 32 bytes; `nil` for any other length.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        key = SymmetricKey(data: Array(bytes))
    }

    /// Creates a random secret.
    static func random() -> PRFSecret { PRFSecret(key: SymmetricKey(size: .bits256)) }

    private init(key: SymmetricKey) { self.key = key }

    /// Returns the HMAC-SHA-256 of each salt, as `hmac-secret` defines it (CTAP 2.3 §12.7).
    func answer(_ salts: PRFSalts) -> (first: PRFResult, second: PRFResult?) {
        func answer(_ salt: PRFSalt) -> PRFResult {
            PRFResult(HMAC<SHA256>.authenticationCode(for: salt.bytes, using: key))
        }
        return (answer(salts.first), salts.second.map(answer))
    }

    /// Calls `body` with the bytes.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }
}
