// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCTAP

/// The secret behind a passkey's `prf` answers: 32 random bytes, wiped on release, never printed.
///
/// CTAP calls it *CredRandomWithUV*. There is none for users who were not verified, because here all are.
public struct PRFSecret: Sendable {
    /// Length in bytes.
    public static let length = 32

    private let key: SymmetricKey

    /// Takes exactly 32 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        key = SymmetricKey(data: Array(bytes))
    }

    /// A fresh secret.
    static func random() -> PRFSecret { PRFSecret(key: SymmetricKey(size: .bits256)) }

    private init(key: SymmetricKey) { self.key = key }

    /// HMAC-SHA-256 of each salt, as `hmac-secret` has it (CTAP 2.3 §12.7).
    func answer(_ salts: PRFSalts) -> (first: PRFResult, second: PRFResult?) {
        func answer(_ salt: PRFSalt) -> PRFResult {
            PRFResult(HMAC<SHA256>.authenticationCode(for: salt.bytes, using: key))
        }
        return (answer(salts.first), salts.second.map(answer))
    }

    /// Lends the bytes.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }
}

extension PRFSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "PRFSecret(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
