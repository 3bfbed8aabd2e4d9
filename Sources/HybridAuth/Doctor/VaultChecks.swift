// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridDoctor
internal import HybridPrimitives
internal import HybridVault

/// The checks of the vault that need no PIN.
enum VaultChecks {
    private static let checks: [DoctorCheck] = [.vault, .vaultPermissions, .vaultPIN, .vaultSlots, .syncConflicts]

    /// Performs the checks.
    ///
    /// - Parameter isVirtual: True if the radio is virtual, with which only test vaults open.
    static func run(_ location: VaultLocation, isVirtual: Bool) -> [DoctorFinding] {
        do throws(VaultError) {
            let status = try Vault.status(at: location)
            return [
                presence(status, isVirtual), permissions(location), pin(status, location), slots(status),
                conflicts(try Vault.syncConflicts(at: location)),
            ]
        } catch {
            return findings(error, location)
        }
    }

    /// Returns the finding about a vault that cannot be opened, and the other checks as skipped.
    private static func findings(_ error: VaultError, _ location: VaultLocation) -> [DoctorFinding] {
        var first = DoctorFinding(.vault, .failed, error)
        switch error {
        case .doesNotExist:
            first = DoctorFinding(.vault, .fine, "there is none at \(location.directory); the first scan creates it")
        case .loosePermissions, .notOwned: first = DoctorFinding(.vaultPermissions, .failed, error)
        default: break
        }
        if first.state == .failed { first.status = error.statusWhenOpening }
        let reason = first.state == .failed ? "the vault can't be opened" : "there is no vault"
        return checks.map { $0 == first.check ? first : DoctorFinding($0, .skipped, "not checked: \(reason)") }
    }

    private static func presence(_ status: VaultStatus, _ isVirtual: Bool) -> DoctorFinding {
        guard status.isTest == isVirtual else {
            let error: VaultError = status.isTest ? .testVaultNeedsVirtualRadio : .realVaultRefusesVirtualRadio
            return DoctorFinding(.vault, .failed, error)
        }
        let kind = status.isTest ? "a test vault" : "a vault"
        let records = status.records == 1 ? "1 record" : "\(status.records) records"
        return DoctorFinding(.vault, .fine, "\(status.path) is \(kind) with \(records)")
    }

    private static func permissions(_ location: VaultLocation) -> DoctorFinding {
        for path in [location.stateDirectory, location.directory] where access(path, W_OK) != 0 {
            // The attempts to type a PIN are counted in the state, before anything else.
            let state: DoctorFinding.State = path == location.stateDirectory ? .failed : .warning
            return DoctorFinding(.vaultPermissions, state, VaultError.cannotWrite(path))
        }
        return DoctorFinding(.vaultPermissions, .fine, "only this user can access it")
    }

    private static func pin(_ status: VaultStatus, _ location: VaultLocation) -> DoctorFinding {
        if status.isRekeyedElsewhere { return DoctorFinding(.vaultPIN, .failed, VaultError.rekeyedElsewhere) }
        guard status.hasPIN else {
            let path = "\(location.stateDirectory)/\(status.id)"
            return DoctorFinding(.vaultPIN, .failed, VaultError.noPINSlotHere(path: path))
        }
        if status.waitSeconds > 0 {
            return DoctorFinding(
                .vaultPIN,
                .warning,
                "was wrong \(status.wrongPINs) times, so it is refused for \(status.waitSeconds) s",
                remedy: "wait, or run: hybrid-auth vault change-pin --forgotten"
            )
        }
        if status.isRekeying {
            return DoctorFinding(
                .vaultPIN,
                .warning,
                "is set, but a rekey was interrupted",
                remedy: "finish it: hybrid-auth passkeys list"
            )
        }
        return DoctorFinding(.vaultPIN, .fine, "is set on this device")
    }

    private static func slots(_ status: VaultStatus) -> DoctorFinding {
        guard status.opensElsewhere else {
            return DoctorFinding(
                .vaultSlots,
                .warning,
                "there is neither a passphrase nor a recovery code, so the vault is lost with this device",
                remedy: "run: hybrid-auth vault recovery-code"
            )
        }
        let found = "\(status.passphrases) for passphrases, \(status.recoveryCodes) for recovery codes"
        guard let first = status.warnings.first else { return DoctorFinding(.vaultSlots, .fine, found) }
        return DoctorFinding(
            .vaultSlots,
            .warning,
            "\(found); ignored files: \(status.warnings.count), for example \(first.path): \(first.reason)",
            remedy: "let the file sync finish; see hybrid-auth vault status"
        )
    }

    private static func conflicts(_ conflicts: SyncConflicts) -> DoctorFinding {
        let copies = conflicts.copies.first.map {
            "copies that are read, too: \(conflicts.copies.count), for example \($0.path)"
        }
        guard let first = conflicts.ignored.first else {
            return DoctorFinding(.syncConflicts, .fine, copies ?? "there are none")
        }
        let ignored = "ignored files: \(conflicts.ignored.count), for example \(first.path)"
        return DoctorFinding(
            .syncConflicts,
            .warning,
            [ignored, copies].compactMap(\.self).joined(separator: "; "),
            remedy: "this program did not write these files; move them elsewhere"
        )
    }
}
