// SPDX-License-Identifier: Apache-2.0

/// The time that all checks of the doctor have together, and what each may take of it.
struct DoctorTime: Sendable {
    /// All of it, in seconds.
    let seconds: Int
    /// When it is over.
    let end: ContinuousClock.Instant

    /// Begins now.
    init(seconds: Int) {
        self.seconds = seconds
        end = .now + .seconds(seconds)
    }

    /// For hearing something; it is waited for twice, at the most.
    var hearing: Duration { .milliseconds(400 * seconds) }
    /// For reaching a relay, and again for its answer, in whole seconds.
    var relay: Int { max(1, seconds * 2 / 5) }

    /// Does something as long as there is time; `nil` if it was over before.
    ///
    /// - Throws: what the body throws, `CancellationError`.
    func spend<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result? {
        let end = end
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(until: end)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
