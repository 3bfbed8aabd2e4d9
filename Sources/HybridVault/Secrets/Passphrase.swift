// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A passphrase as it was typed: UTF-8, in memory that is wiped on release, never printed.
public struct Passphrase: Sendable {
    /// The longest accepted, in bytes of UTF-8.
    public static let maximumBytes = 1024
    /// The fewest bits that a new one must be worth, as ``strength`` estimates them.
    public static let minimumBits = 64

    private let key: SymmetricKey

    /// Takes 1 to 1,024 bytes of UTF-8; anything else is `nil`.
    ///
    /// Whether it is strong enough for a *new* slot is ``isStrongEnough``.
    public init?(utf8: UnsafeRawBufferPointer) {
        guard (1...Self.maximumBytes).contains(utf8.count) else { return nil }
        self.key = SymmetricKey(data: utf8)
    }

    /// How many bits it is worth, as ``PassphraseStrength`` estimates them.
    public var strength: Int { key.withUnsafeBytes { PassphraseStrength.bits(of: $0) } }

    /// Whether it is worth at least ``minimumBits``, as the passphrase of a new slot must.
    public var isStrongEnough: Bool { strength >= Self.minimumBits }

    /// Lends the bytes.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }
}

extension Passphrase: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "Passphrase(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What opens a vault where it has no PIN.
public enum PortableSecret: Sendable {
    case passphrase(Passphrase)
    case recoveryCode(RecoveryCode)

    /// Lends what is stretched.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        switch self {
        case .passphrase(let passphrase): try passphrase.withUnsafeBytes(body)
        case .recoveryCode(let code): try code.withUnsafeBytes(body)
        }
    }

    /// Which slots it may open.
    var kind: PortableSlot.Kind {
        switch self {
        case .passphrase: .passphrase
        case .recoveryCode: .recoveryCode
        }
    }
}
