// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The lock of the agent.
///
/// A locked agent lists no keys and signs nothing. A wrong passphrase delays the next attempt by 0.1 s for each
/// failure, up to 10 s, on all connections together. The passphrase is kept as an HMAC-SHA-256 under a random key. A
/// slow hash would not help: an attacker who can read this memory can also unlock the agent.
public struct AgentLock: Sendable {
    private let key = SymmetricKey(size: .bits256)
    private var code: [UInt8]?
    private var failures = 0
    private var nextAttempt: ContinuousClock.Instant?

    /// Creates an open lock.
    public init() {}

    /// A Boolean value that indicates whether the agent is locked.
    public var isLocked: Bool { code != nil }

    /// Locks the agent; returns false if it is locked already or the passphrase is empty.
    mutating func lock(_ passphrase: SecretBytes) -> Bool {
        guard !isLocked, !passphrase.memory.isEmpty else { return false }
        code = authenticationCode(passphrase)
        return true
    }

    /// Unlocks the agent.
    ///
    /// - Returns: The delay of the answer, or `nil` if the agent is unlocked now.
    mutating func unlock(_ passphrase: SecretBytes, at now: ContinuousClock.Instant) -> Duration? {
        guard let code else { return .zero }
        // An attempt during the delay fails without a comparison, or parallel connections would multiply attempts.
        if let nextAttempt, now < nextAttempt { return now.duration(to: nextAttempt) }
        guard ConstantTime.equal(authenticationCode(passphrase), code) else {
            failures = min(failures + 1, Self.maximumFailures)
            let delay = Duration.milliseconds(100 * failures)
            nextAttempt = now.advanced(by: delay)
            return delay
        }
        (self.code, failures, nextAttempt) = (nil, 0, nil)
        return nil
    }

    private static let maximumFailures = 100

    private func authenticationCode(_ passphrase: SecretBytes) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: UnsafeRawBufferPointer(passphrase.memory), using: key))
    }
}
