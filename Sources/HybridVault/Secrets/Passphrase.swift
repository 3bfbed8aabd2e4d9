// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// A passphrase: UTF-8 in memory that is wiped on release and never printed.
public struct Passphrase: Sendable, SecretMaterial {
    /// Limit of the length, in bytes of UTF-8.
    public static let maximumBytes = 1024
    /// Required strength of a new passphrase in bits, as ``strength`` estimates them.
    public static let minimumBits = 64

    let key: SymmetricKey

    /// Creates a passphrase from 1 to 1,024 bytes of UTF-8; returns `nil` otherwise.
    ///
    /// ``isStrongEnough`` shows whether it may be used for a *new* slot.
    public init?(utf8: UnsafeRawBufferPointer) {
        guard (1...Self.maximumBytes).contains(utf8.count) else { return nil }
        self.key = SymmetricKey(data: utf8)
    }

    /// Estimated strength in bits.
    public var strength: Int { key.withUnsafeBytes { PassphraseStrength.bits(of: $0) } }

    /// True if the strength is at least ``minimumBits``, as a new slot requires.
    public var isStrongEnough: Bool { strength >= Self.minimumBits }
}

/// A secret that opens a vault on a device where it has no PIN.
public enum PortableSecret: Sendable {
    case passphrase(Passphrase)
    case recoveryCode(RecoveryCode)

    /// The bytes from which the slot's key is derived.
    var key: SymmetricKey {
        switch self {
        case .passphrase(let passphrase): passphrase.key
        case .recoveryCode(let code): code.key
        }
    }

    /// Kind of the slots that it can open.
    var kind: PortableSlot.Kind {
        switch self {
        case .passphrase: .passphrase
        case .recoveryCode: .recoveryCode
        }
    }
}
