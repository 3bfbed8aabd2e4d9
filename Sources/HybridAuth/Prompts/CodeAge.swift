// SPDX-License-Identifier: Apache-2.0

/// The age of a code, according to its own timestamp.
///
/// An attacker may have created a code earlier and then deceived the user into scanning it. Such a code is old. Because
/// clocks differ, an old code is not rejected, but the user is warned.
enum CodeAge {
    /// Maximum age of a code without a warning, in seconds.
    static let maximumWithoutWarning: UInt64 = 120

    /// Returns the age as text.
    static func text(_ seconds: UInt64) -> String {
        switch seconds {
        case 0..<120: "\(seconds) seconds"
        case 120..<7200: "\(seconds / 60) minutes"
        case 7200..<172_800: "\(seconds / 3600) hours"
        default: "\(seconds / 86_400) days"
        }
    }

    /// Returns a warning about an old code, with the only condition for going on.
    static func warning(_ age: UInt64?, unless condition: String = "you just asked for it yourself") -> String? {
        guard let age, age > maximumWithoutWarning else { return nil }
        return "OLD CODE: it was made \(text(age)) ago. Continue only if \(condition)."
    }
}
