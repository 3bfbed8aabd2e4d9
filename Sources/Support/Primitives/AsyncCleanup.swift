// SPDX-License-Identifier: Apache-2.0

/// Runs `body` and then `cleanup`, whether `body` returns or throws.
///
/// Swift's `defer` cannot await.
package func withCleanup<Result, Failure: Error>(
    _ cleanup: () async -> Void,
    isolation: isolated (any Actor)? = #isolation,
    of body: () async throws(Failure) -> sending Result
) async throws(Failure) -> sending Result {
    let result: Result
    do throws(Failure) {
        result = try await body()
    } catch {
        await cleanup()
        throw error
    }
    await cleanup()
    return result
}
