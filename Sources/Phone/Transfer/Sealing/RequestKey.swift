// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The private key (X25519) to which one gift is sealed; swift-crypto wipes it on release.
package struct RequestKey: FixedLengthBytes, SecretMaterial, Sendable {
    package static let length = 32

    let key: Curve25519.KeyAgreement.PrivateKey

    private init(_ key: Curve25519.KeyAgreement.PrivateKey) { self.key = key }

    /// Creates a key from bytes whose length has been checked, such as those of a sealed state.
    package init(checked bytes: some Collection<UInt8>) {
        var copy = Array(bytes)
        defer { SecretBytes.wipe(&copy) }
        guard let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: copy) else {
            preconditionFailure("any 32 bytes are a private key of X25519")
        }
        self.key = key
    }

    /// Creates a random key.
    package static func random() -> RequestKey { RequestKey(Curve25519.KeyAgreement.PrivateKey()) }

    /// Calls `body` with the 32 bytes, which must not be copied to memory that is not wiped.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        var bytes = Array(key.rawRepresentation)
        defer { SecretBytes.wipe(&bytes) }
        return try bytes.withUnsafeBytes(body)
    }
}
