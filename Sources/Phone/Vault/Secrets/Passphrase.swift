// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A passphrase in UTF-8, which is wiped on release and never printed.
package struct Passphrase: Sendable, SecretMaterial {
    /// Maximum length, in bytes of UTF-8.
    package static let maximumBytes = 1024
    /// Minimum strength of a new passphrase in bits, as estimated by ``strength``.
    package static let minimumBits = 64

    let key: SymmetricKey

    /// Creates a passphrase from 1 to 1,024 bytes of UTF-8; returns `nil` otherwise.
    ///
    /// A passphrase for a *new* slot must also satisfy ``isStrongEnough``.
    package init?(utf8: UnsafeRawBufferPointer) {
        guard (1...Self.maximumBytes).contains(utf8.count) else { return nil }
        self.key = SymmetricKey(data: utf8)
    }

    /// Estimated strength in bits.
    package var strength: Int { key.withUnsafeBytes { PassphraseStrength.bits(of: $0) } }

    /// True if the strength is at least ``minimumBits``, as a new slot requires.
    package var isStrongEnough: Bool { strength >= Self.minimumBits }
}

/// A secret that opens a vault on a device on which the vault has no PIN.
package enum PortableSecret: Sendable {
    case passphrase(Passphrase)
    case recoveryCode(RecoveryCode)

    /// The bytes from which the slot's key is derived.
    var key: SymmetricKey {
        switch self {
        case .passphrase(let passphrase): passphrase.key
        case .recoveryCode(let code): code.key
        }
    }

    /// The kind of slot that the secret can open.
    var kind: PortableSlot.Kind {
        switch self {
        case .passphrase: .passphrase
        case .recoveryCode: .recoveryCode
        }
    }
}
