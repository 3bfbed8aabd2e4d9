// SPDX-License-Identifier: Apache-2.0

/// Polls for a state, so that no test waits for a fixed time.
package enum Waiting {
    /// Returns when the condition holds.
    ///
    /// - Parameter evidence: Text for the error message.
    /// - Throws: ``RunningProgram/TimedOut`` after the limit, and errors of the condition.
    package static func until(
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
