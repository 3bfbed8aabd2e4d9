// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Random numbers that can be had again.
///
/// The seed is drawn afresh for each generator, or taken from the variable `TEST_SEED`. A property test puts the
/// generator into the comment of every expectation, so that a failure names the seed:
///
///     #expect(decoded == value, "\(random)")
///
/// The numbers are SplitMix64's: good enough to draw cases, worthless as keys outside tests.
public struct SeededGenerator: RandomNumberGenerator, CustomStringConvertible, Sendable {
    /// What the sequence began with.
    public let seed: UInt64
    private var state: UInt64

    /// A generator with the seed of `TEST_SEED`, or else a new one.
    public init() {
        let wanted = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
        self.init(seed: wanted ?? UInt64.random(in: .min ... .max))
    }

    /// A generator with a fixed seed.
    public init(seed: UInt64) {
        self.seed = seed
        self.state = seed
    }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// So many random bytes.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// A number from a range.
    public mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// How to have the same sequence again.
    public var description: String { "again with TEST_SEED=\(seed)" }
}
