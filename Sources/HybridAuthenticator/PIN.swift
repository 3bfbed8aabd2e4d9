// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A PIN as it was typed: UTF-8, in memory that is wiped on release, never printed.
public struct PIN: Sendable {
    /// The shortest accepted, in Unicode code points.
    public static let minimumLength = 4
    /// The longest accepted, in bytes of UTF-8.
    public static let maximumBytes = 255

    private let key: SymmetricKey

    /// Takes 1 to 255 bytes of UTF-8; anything else is `nil`.
    ///
    /// Whether it is long enough for a *new* PIN is ``isLongEnough``.
    public init?(utf8: UnsafeRawBufferPointer) {
        guard (1...Self.maximumBytes).contains(utf8.count) else { return nil }
        self.key = SymmetricKey(data: utf8)
    }

    /// Whether it has at least ``minimumLength`` code points, as a new PIN must.
    public var isLongEnough: Bool {
        key.withUnsafeBytes { bytes in
            bytes.count { $0 & 0xC0 != 0x80 } >= Self.minimumLength
        }
    }

    /// Lends the bytes.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }

    /// Whether two PINs are the same, in constant time for equal lengths.
    public static func == (left: PIN, right: PIN) -> Bool { left.key == right.key }
}

extension PIN: Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "PIN(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
