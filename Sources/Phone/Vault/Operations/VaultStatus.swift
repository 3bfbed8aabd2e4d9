// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Properties of a vault that can be read without a secret.
///
/// Nothing here is authenticated: anyone who can write the directory can, for example, add slots that open nothing.
/// ``UnlockedVault/portableSlots()`` counts authentic slots.
package struct VaultStatus: Equatable, Sendable {
    /// Path of the vault directory.
    package let path: String
    /// Vault ID: 32 hexadecimal digits.
    package let id: String
    /// True for a test vault, which opens only with a virtual radio.
    package let isTest: Bool
    /// Number of slots for passphrases.
    package let passphrases: Int
    /// Number of slots for recovery codes.
    package let recoveryCodes: Int
    /// Number of records, including deleted ones.
    package let records: Int
    /// Protection of the PIN on this device; `nil` if the vault has no PIN here.
    package let pinProtection: PINProtection?
    /// Fingerprint of the vault key; `nil` if it was replaced elsewhere, or the vault has not been opened here yet.
    package let keyFingerprint: VaultKeyFingerprint?
    /// True if another device replaced the vault key, and this device does not have the new one.
    package let isRekeyedElsewhere: Bool
    /// Number of consecutive wrong PINs.
    package let wrongPINs: Int
    /// Seconds until a PIN may be tried again; 0 if there is no wait.
    package let waitSeconds: Int
    /// Time of the last backup from this device, in seconds since 1970 by its clock; `nil` if none is known.
    package let lastBackup: UInt64?
    /// True if a rekey was interrupted; the next unlocking finishes it.
    package let isRekeying: Bool
    /// True if the user allowed fingerprints in place of the PIN on this device.
    package let usesFingerprint: Bool
    /// Warnings about ignored files in `slots/`.
    package let warnings: [VaultWarning]

    /// True if the vault has a PIN on this device.
    package var hasPIN: Bool { pinProtection != nil }
    /// True if the vault has a slot, so that it can be opened on another device.
    package var opensElsewhere: Bool { passphrases + recoveryCodes > 0 }
}

extension Vault {
    /// Reads the status of a vault without opening it.
    ///
    /// - Throws: ``VaultError``.
    package static func status(at location: VaultLocation) throws(VaultError) -> VaultStatus {
        let (directory, identity) = try VaultDirectory.open(location)
        let slots = try PortableSlots(in: directory, identity: identity)
        let state: LocalState?
        do throws(VaultError) {
            state = try LocalState(stateDirectory: location.stateDirectory, identity: identity)
        } catch .noPINSlotHere {
            state = nil
        }
        var attempts = try state?.attempts() ?? AttemptCounter()
        let records = try? directory.subdirectory(VaultDirectory.recordsName)
            .firstNames(VaultRecords.maximumNames) { RecordID($0) != nil }
        let known = try? state?.knownSlots()
        let isReplaced = known?.isReplaced ?? false
        let current = isReplaced ? nil : known?.current
        return VaultStatus(
            path: location.directory,
            id: identity.name,
            isTest: identity.isTest,
            passphrases: slots.all.count { $0.kind == .passphrase },
            recoveryCodes: slots.all.count { $0.kind == .recoveryCode },
            records: records?.count ?? 0,
            pinProtection: state?.protection,
            keyFingerprint: current.map { VaultKeyFingerprint(of: $0, identity: identity) },
            isRekeyedElsewhere: isReplaced,
            wrongPINs: Int(attempts.wrong),
            waitSeconds: Int(attempts.remaining(now: location.clock.now())),
            lastBackup: state?.timeOfLastBackup,
            isRekeying: state?.isRekeying ?? false,
            usesFingerprint: state?.allowsFingerprint ?? false,
            warnings: slots.warnings
        )
    }

    /// Returns true for a test vault; no PIN is needed.
    ///
    /// - Throws: ``VaultError``.
    package static func isTest(at location: VaultLocation) throws(VaultError) -> Bool {
        try VaultDirectory.open(location).1.isTest
    }
}
