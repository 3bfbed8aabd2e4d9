// SPDX-License-Identifier: Apache-2.0

/// A state of a ceremony that a person waits for, or something that is told on the way.
public struct ProgressState: Sendable {
    /// For programs: lower-case words with hyphens between them, never others.
    public let name: String
    /// For a person, without a full stop.
    public let text: String
    /// What else a program may want to know, by name.
    public let details: [(name: String, value: String)]

    /// A state with its name, its words and its details.
    public init(_ name: String, _ text: String, details: [(name: String, value: String)] = []) {
        self.name = name
        self.text = text
        self.details = details
    }
}

/// How long something took, in words for one line.
enum ElapsedTime {
    /// Tenths up to ten seconds, whole seconds up to a minute, then minutes and seconds.
    static func words(_ duration: Duration) -> String {
        let tenths = max(0, Int(duration / .milliseconds(100)))
        let seconds = tenths / 10
        return switch seconds {
        case 0..<10: "\(seconds).\(tenths % 10) s"
        case 10..<60: "\(seconds) s"
        default: "\(seconds / 60) min \(seconds % 60 < 10 ? "0" : "")\(seconds % 60) s"
        }
    }
}
