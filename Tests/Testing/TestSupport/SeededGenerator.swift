// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A reproducible random number generator.
///
/// The seed is random for each generator unless the environment variable `TEST_SEED` is set. Property tests put the
/// generator into the comment of every expectation, so that a failure names the seed:
///
///     #expect(decoded == value, "\(random)")
///
/// The algorithm is SplitMix64, which is not suitable for keys outside of tests.
package struct SeededGenerator: RandomNumberGenerator, CustomStringConvertible, Sendable {
    /// The seed of the sequence.
    package let seed: UInt64
    private var state: UInt64

    /// Creates a generator with the seed in `TEST_SEED`, or with a random seed.
    package init() {
        let wanted = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
        self.init(seed: wanted ?? UInt64.random(in: .min ... .max))
    }

    /// Creates a generator with a fixed seed.
    package init(seed: UInt64) {
        self.seed = seed
        self.state = seed
    }

    /// Returns the next number.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns random bytes.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// Returns a number in a range.
    package mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// The environment variable that reproduces the sequence.
    package var description: String { "reproduce with TEST_SEED=\(seed)" }
}
