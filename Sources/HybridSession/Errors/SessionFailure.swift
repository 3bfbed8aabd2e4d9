// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives

/// A failure of one side's session, to which all other errors are converted.
protocol SessionFailure: ExplainedFailure {
    init(_ code: String, _ sentence: String, status: ExitStatus)

    /// A fault of this program.
    static func internalFault(_ text: String) -> Self

    /// Returns the failure for an error that means something else here than elsewhere; `nil` for other errors.
    static func explaining(_ error: any Error) -> Self?
}

extension SessionFailure {
    /// Creates the failure that an error stands for.
    init(_ error: any Error) {
        switch error {
        case let error as Self: self = error
        case let error as HandshakeError where error == .outOfOrder: self = .internalFault("\(error)")
        case let error as any ExplainedFailure:
            self = .explaining(error) ?? Self(error.code, error.sentence, status: error.status)
        default: self = .explaining(error) ?? .internalFault("\(error)")
        }
    }

    /// Runs `body` and converts each error except `CancellationError`.
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
