// SPDX-License-Identifier: Apache-2.0

/// A value of a fixed number of bytes: a key, a hash or an identifier.
///
/// A secret is a ``SecretMaterial`` as well, and keeps its bytes in memory that is wiped.
public protocol FixedLengthBytes {
    /// Length in bytes.
    static var length: Int { get }

    /// Creates a value from exactly ``length`` bytes; the caller has checked the length.
    init(checked bytes: some Collection<UInt8>)
}

extension FixedLengthBytes {
    /// Creates a value from exactly ``length`` bytes; `nil` for another length.
    @inlinable public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        self.init(checked: bytes)
    }
}

/// A value of a fixed number of bytes that are chosen at random.
public protocol RandomlyChosenBytes: FixedLengthBytes {}

extension RandomlyChosenBytes {
    /// Creates a random value.
    ///
    /// - Parameter generator: A cryptographically secure generator.
    public init(using generator: inout some RandomNumberGenerator) {
        self.init(checked: [UInt8].random(Self.length, using: &generator))
    }

    /// Creates a value from the system's random source.
    package static func random() -> Self { Self(checked: [UInt8].random(Self.length)) }
}

extension [UInt8] {
    /// Returns `count` random bytes.
    package static func random(_ count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
    }

    /// Returns `count` bytes from the system's random source (`getrandom`).
    package static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return random(count, using: &generator)
    }
}
