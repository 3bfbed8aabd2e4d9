// SPDX-License-Identifier: Apache-2.0

/// Properties of a TPM that anyone who may open it can read.
package struct TPMStatus: Equatable, Sendable {
    /// Vendor ID: at most four ASCII characters, for example `INTC`.
    package let manufacturer: String
    /// State of the protection against guessing.
    package let lockout: TPMLockout
    /// True if resetting that protection needs a password.
    ///
    /// If false, a thief of the running machine can reset it between guesses.
    package let isLockoutAuthSet: Bool
}

/// State of a TPM's protection against dictionary attacks, which all programs and operating systems share.
package struct TPMLockout: Equatable, Sendable {
    /// Tries that must be left for a PIN to be tried, so that one typing error cannot lock out other programs.
    package static let reserve = 2

    /// Number of wrong authorizations (TPM2_PT_LOCKOUT_COUNTER).
    package let counter: UInt32
    /// Number of wrong authorizations that causes the lockout (TPM2_PT_MAX_AUTH_FAIL).
    package let maximum: UInt32
    /// Seconds until the counter is decremented by one (TPM2_PT_LOCKOUT_INTERVAL).
    package let interval: UInt32
    /// True during a lockout.
    package let isLockedOut: Bool

    /// Number of tries left.
    package var left: Int { isLockedOut ? 0 : max(0, Int(maximum) - Int(counter)) }
    /// Minutes until ``reserve`` tries are left, rounded up; 0 if they are left now.
    package var minutes: Int {
        let missing = Self.reserve - left
        return missing <= 0 ? 0 : max(1, (missing * Int(interval) + 59) / 60)
    }

    /// Throws ``TPMError/lockedOut(minutes:)`` unless ``reserve`` tries are left.
    func check() throws(TPMError) {
        if left < Self.reserve { throw .lockedOut(minutes: minutes) }
    }
}

extension TPMAddress {
    /// Reads the properties of the TPM, which are not authenticated.
    ///
    /// - Throws: ``TPMError``.
    package func status() throws(TPMError) -> TPMStatus { try TPMConnection(self).status() }
}
