// SPDX-License-Identifier: Apache-2.0

/// The lines about refused requests: of equal ones, one a minute is written and the others are counted.
///
/// Others can cause refusals, and would otherwise fill the log.
package struct RepeatedLines: Sendable {
    static let span = Duration.seconds(60)
    /// Maximum number of different lines that are remembered; a program has fewer.
    private static let maximumLines = 64

    private var lines: [String: (written: ContinuousClock.Instant, repeated: Int)] = [:]

    /// Creates the state before the first line.
    package init() {}

    /// Returns the line to write for a text; `nil` if it is only counted.
    ///
    /// - Parameters:
    ///   - text: The line.
    ///   - now: The time.
    package mutating func line(_ text: String, at now: ContinuousClock.Instant = .now) -> String? {
        if let last = lines[text], now - last.written < Self.span {
            lines[text]?.repeated += 1
            return nil
        }
        let repeated = lines[text]?.repeated ?? 0
        if lines.count >= Self.maximumLines { lines = lines.filter { now - $0.value.written < Self.span } }
        if lines.count < Self.maximumLines { lines[text] = (now, 0) }
        return repeated == 0 ? text : "\(text); \(repeated) more like it since the last such line"
    }
}
