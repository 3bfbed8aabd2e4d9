// SPDX-License-Identifier: Apache-2.0

/// Runs `body`; if it does not finish within `duration`, cancels it and throws `error`.
package func withDeadline<Result: Sendable>(
    _ duration: Duration,
    orThrow error: any Error,
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: duration)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let result = first else { throw error }
        return result
    }
}
