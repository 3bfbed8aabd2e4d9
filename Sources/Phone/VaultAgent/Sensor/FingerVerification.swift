// SPDX-License-Identifier: Apache-2.0

/// The states of one verification, which may take several attempts; sans-IO.
///
/// Source: fprintd's D-Bus reference, `Device.VerifyStatus`. A result ends an attempt if the signal says `done`.
struct FingerVerification: Equatable, Sendable {
    /// The number of fingers that may be tried in one verification.
    static let maximumAttempts = 3

    /// The next step after a signal.
    enum Step: Equatable, Sendable {
        /// The attempt goes on; the user is asked to present the finger again.
        case retry
        /// Signals that change nothing.
        case ignore
        /// The finger does not match; verification is stopped, and started again if `again`.
        case miss(again: Bool)
        /// The finger matches.
        case match
        /// The verification ends without a match.
        case fail(FingerprintFailure)
    }

    private var attempts = 0
    private var hasEnded = false

    /// Creates a verification that has not begun.
    init() {}

    /// Handles a `VerifyStatus` signal of the device.
    ///
    /// - Parameters:
    ///   - result: The result's name, such as `verify-match`.
    ///   - isDone: True if the attempt is over.
    mutating func handle(_ result: String, isDone: Bool) -> Step {
        guard !hasEnded else { return .ignore }
        switch result {
        case "verify-match":
            hasEnded = true
            return .match
        case "verify-no-match":
            attempts += 1
            hasEnded = attempts >= Self.maximumAttempts
            return .miss(again: !hasEnded)
        case "verify-retry-scan", "verify-swipe-too-short", "verify-finger-not-centered", "verify-remove-and-retry",
            "verify-too-fast":
            // The device asks again by itself, unless it says that the attempt is over.
            hasEnded = isDone
            return isDone ? .fail(.sensorError) : .retry
        case "verify-disconnected":
            hasEnded = true
            return .fail(.disconnected)
        default:
            // `verify-unknown-error`, and results of later versions.
            guard isDone else { return .ignore }
            hasEnded = true
            return .fail(.sensorError)
        }
    }
}

/// Progress of a verification; the raw values are part of the agent's protocol.
package enum FingerprintEvent: UInt8, Sendable {
    /// The sensor waits for a finger.
    case waiting = 1
    /// The finger was not read; the user presents it again.
    case retry = 2
    /// The finger does not match.
    case miss = 3
}
