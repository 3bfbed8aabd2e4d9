// SPDX-License-Identifier: Apache-2.0

/// A state of a ceremony, or a notice about it.
package struct ProgressState: Sendable {
    /// The name for programs: lower-case words joined by hyphens.
    ///
    /// It is stable across versions.
    package let name: String
    /// The text for users, without a final period.
    package let text: String
    /// Further facts for programs, by name.
    package let details: [(name: String, value: String)]

    /// Creates a state or a notice.
    package init(_ name: String, _ text: String, details: [(name: String, value: String)] = []) {
        self.name = name
        self.text = text
        self.details = details
    }
}

/// The text of a duration.
enum ElapsedTime {
    /// Returns seconds, below ten seconds with one decimal place; from one minute, minutes and seconds.
    static func text(_ duration: Duration) -> String {
        let tenths = max(0, Int(duration / .milliseconds(100)))
        let seconds = tenths / 10
        return switch seconds {
        case 0..<10: "\(seconds).\(tenths % 10) s"
        case 10..<60: "\(seconds) s"
        default: "\(seconds / 60) min \(seconds % 60 < 10 ? "0" : "")\(seconds % 60) s"
        }
    }
}
