// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE

/// How old a code is, by what it says itself.
///
/// A code that somebody else had made earlier, to be scanned by a person in good faith, is old when it gets here.
/// Clocks differ, so age alone refuses nothing; the person is told.
enum CodeAge {
    /// Nobody needs longer, in seconds.
    static let usual: UInt64 = 120

    /// The age in words.
    static func words(_ seconds: UInt64) -> String {
        switch seconds {
        case 0..<120: "\(seconds) seconds"
        case 120..<7200: "\(seconds / 60) minutes"
        case 7200..<172_800: "\(seconds / 3600) hours"
        default: "\(seconds / 86_400) days"
        }
    }

    /// What to tell about a code older than usual, or `nil`.
    static func warning(_ age: UInt64?) -> String? {
        guard let age, age > usual else { return nil }
        return "OLD CODE: it was made \(words(age)) ago. Go on only if you have just asked for it yourself."
    }
}
