// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives

/// A failure of a session, to which all other errors are converted.
protocol SessionFailure: ExplainedFailure {
    init(_ code: String, _ sentence: String, status: ExitStatus)

    /// Returns the failure for a bug in this program.
    static func internalFault(_ text: String) -> Self

    /// Returns the failure for an error that has a specific meaning in this session; `nil` for other errors.
    static func explaining(_ error: any Error) -> Self?
}

extension SessionFailure {
    /// Creates a failure from any error.
    init(_ error: any Error) {
        switch error {
        case let error as Self: self = error
        case let error as HandshakeError where error == .outOfOrder: self = .internalFault("\(error)")
        case let error as any ExplainedFailure:
            self = .explaining(error) ?? Self(error.code, error.sentence, status: error.status)
        default: self = .explaining(error) ?? .internalFault("\(error)")
        }
    }

    /// Runs `body` and converts its error to a failure, unless it is a `CancellationError`.
    static func wrapping<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw Self(error)
        }
    }
}
