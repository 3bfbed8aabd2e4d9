// SPDX-License-Identifier: Apache-2.0

internal import HybridDoctor
internal import HybridPrimitives
internal import HybridTPM
internal import HybridThreads
internal import HybridVault

/// The checks of the TPM, which counts wrong PINs of a vault that uses it.
enum TPMChecks {
    /// Reads the state of the TPM.
    ///
    /// A failure prevents a ceremony only if the PIN of the vault is sealed by the TPM.
    static func run(_ location: VaultLocation, _ budget: TimeBudget) async throws -> [DoctorFinding] {
        let isUsed = (try? Vault.status(at: location))?.pinProtection == .tpm
        let failed: DoctorFinding.State = isUsed ? .failed : .warning
        // The driver has no time limit of its own.
        let lockout = Locked<DoctorFinding?>(nil)
        let first = try await DoctorFinding.within(budget, .tpm, orElse: failed) {
            do throws(TPMError) {
                let status = try await DedicatedThread.run { () throws(TPMError) in try location.tpm.status() }
                lockout.withLock { $0 = finding(status.lockout, failed) }
                let use = isUsed ? "protects the PIN of the vault" : "is not used (hybrid-auth vault tpm enable)"
                let scope = status.isLockoutAuthSet ? "" : "; protects a copied disk, not a stolen machine"
                return DoctorFinding(
                    .tpm,
                    .fine,
                    "\(SafeText(quoting: status.manufacturer)) \(use)\(isUsed ? scope : "")"
                )
            } catch {
                // A computer without a TPM needs none.
                let state: DoctorFinding.State = isUsed ? .failed : error.isAbsence ? .skipped : .warning
                return DoctorFinding(.tpm, state, error)
            }
        }
        let reason = "not checked: the TPM can't be read"
        return [first, lockout.withLock { $0 } ?? DoctorFinding(.tpmLockout, .skipped, reason)]
    }

    /// Returns the finding about the counter of wrong authorizations, which all programs on this computer share.
    private static func finding(_ lockout: TPMLockout, _ failed: DoctorFinding.State) -> DoctorFinding {
        let count = "\(lockout.counter) of \(lockout.maximum) wrong attempts are counted"
        guard !lockout.isLockedOut, lockout.left >= 2 else {
            return DoctorFinding(.tpmLockout, failed, TPMError.lockedOut(minutes: lockout.minutes))
        }
        return DoctorFinding(.tpmLockout, .fine, "\(count); one returns every \(lockout.interval) s")
    }
}

extension TPMError {
    fileprivate var isAbsence: Bool {
        switch self {
        case .absent, .libraryMissing: true
        default: false
        }
    }
}
