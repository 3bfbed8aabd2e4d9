// SPDX-License-Identifier: Apache-2.0

/// A failure of a session that can also be a transfer.
protocol TransferSessionFailure: SessionFailure {
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

extension TransferSessionFailure {
    /// Runs a transfer and converts its error as ``wrapping(_:)`` does, to a failure in words that fit a transfer.
    static func wrappingTransfer<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await wrapping(body)
        } catch let failure as Self {
            throw failure.inTransfer
        }
    }
}
