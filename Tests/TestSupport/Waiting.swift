// SPDX-License-Identifier: Apache-2.0

/// Waiting for a state, never for a time.
public enum Waiting {
    /// Returns when the condition holds.
    ///
    /// - Throws: ``RunningProgram/TimedOut`` after the limit, and what the condition throws.
    public static func until(
        _ what: String,
        within limit: Duration = .seconds(60),
        evidence: @autoclosure () -> String = "",
        _ condition: () async throws -> Bool
    ) async throws {
        let end = ContinuousClock.now + limit
        while try await !condition() {
            guard ContinuousClock.now < end else {
                throw RunningProgram.TimedOut(description: "waited \(limit) for \(what)\n\(evidence())")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
