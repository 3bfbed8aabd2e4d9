// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// The 16 random bytes of a ``TransferCode``, from which both ends derive the tunnel ID and their shared keys.
///
/// No derived key is equal to one of a sign-in, even from the same bytes. The secret is never sent over a network.
public struct TransferSecret: RandomlyChosenBytes, Sendable, SecretMaterial, Equatable {
    /// Length in bytes.
    public static let length = 16

    let key: SymmetricKey

    init(key: SymmetricKey) { self.key = key }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { key = SymmetricKey(data: Array(bytes)) }
}
