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

    /// The failure in words that fit a transfer.
    var inTransfer: Self { get }

    /// The failure if the other end of a transfer sends nothing in time.
    static var peerSilent: Self { get }

    /// The failure if the other end of a transfer leaves.
    static var peerLeft: Self { get }

    /// The failure if the other end of a transfer leaves, or the relay disconnects; the two cannot be distinguished.
    static var peerOrRelayLeft: Self { get }

    /// Returns the failure if the other end of a transfer violates the protocol; `how` is a clause for the sentence.
    static func peerMisbehaved(_ how: String) -> Self
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

    /// Runs a transfer and converts its error as ``wrapping(_:)`` does, to a failure in words that fit a transfer.
    static func wrappingTransfer<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await wrapping(body)
        } catch let failure as Self {
            throw failure.inTransfer
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
