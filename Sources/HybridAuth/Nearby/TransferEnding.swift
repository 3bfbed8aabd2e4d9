// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridTransfer
internal import HybridVault

extension TransferChannel {
    /// Time for a message that needs no user.
    static let promptly = Duration.seconds(60)
    /// Time for the other side's user to compare, to choose and to type a PIN.
    static let unhurried = Duration.seconds(1800)

    /// Runs one side of a transfer; if it fails here, the other side learns the kind of the failure.
    ///
    /// - Parameters:
    ///   - isReceiver: True if this side stores what is transferred, so that there may be no room for it.
    ///   - body: The side.
    func explainingEnd<Outcome: Sendable>(
        isReceiver: Bool,
        _ body: () async throws -> Outcome
    ) async throws -> Outcome {
        do {
            return try await body()
        } catch {
            let failure = TransferFailure(toTell: error, ofReceiver: isReceiver)
            if let refusal = failure?.refusal { try? await send(refusal.frame) }
            throw error
        }
    }
}

extension TransferFailure {
    /// Creates what the other side is told about a failure here; `nil` if it has ended the session itself.
    init?(toTell error: any Error, ofReceiver isReceiver: Bool) {
        switch error {
        case let failure as TransferFailure: self = failure
        case let error as VaultError:
            switch error {
            case .cannotWrite, .tooLarge, .changeNotRecorded: self = isReceiver ? .full : .failed
            default: self = .failed
            }
        case let failure as CommandFailure where failure.code == VaultQuestions.declined.code: self = .declined
        case is CancellationError, is ClientFailure, is AuthenticatorSessionFailure: return nil
        default: self = .failed
        }
    }
}
