// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// A PIN as the user typed it, in UTF-8 and in memory that is wiped on release.
public struct PIN: SecretMaterial, Equatable, Sendable {
    /// Minimum length of a new PIN, in Unicode code points.
    public static let minimumLength = 4
    /// Maximum length of a PIN, in bytes of UTF-8.
    public static let maximumBytes = 255

    private let key: SymmetricKey

    /// Creates a PIN from 1 to 255 bytes of UTF-8; `nil` for any other length.
    ///
    /// A *new* PIN must also satisfy ``isLongEnough``.
    public init?(utf8: UnsafeRawBufferPointer) {
        guard (1...Self.maximumBytes).contains(utf8.count) else { return nil }
        self.key = SymmetricKey(data: utf8)
    }

    /// True if the PIN has at least ``minimumLength`` code points, as a new PIN must.
    public var isLongEnough: Bool {
        key.withUnsafeBytes { bytes in
            bytes.count { $0 & 0xC0 != 0x80 } >= Self.minimumLength
        }
    }

    /// Calls `body` with the bytes, which must not be copied to memory that is not wiped.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }

    /// Compares two PINs in time that depends on their lengths alone.
    public static func == (left: PIN, right: PIN) -> Bool { left.key == right.key }
}
