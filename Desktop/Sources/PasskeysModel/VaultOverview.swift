// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// The facts about the vault that need no PIN.
package struct VaultOverview: Equatable, Sendable {
    /// Something that the user should do first.
    package enum Advice: Equatable, Sendable {
        case choosePIN
        case makeRecoveryCode
    }

    /// True if there is a passphrase or a recovery code, so that the vault survives this device.
    package let opensElsewhere: Bool
    /// True if the vault has a PIN on this device.
    package let hasPIN: Bool
    /// True if the TPM protects the PIN.
    package let isTPMUsed: Bool
    /// The number of recovery codes.
    package let recoveryCodes: Int
    /// The number of records.
    package let records: Int
    /// The time of the last backup in seconds since 1970.
    package let lastBackup: Int64?
    /// True for a vault that only works with a virtual radio.
    package let isTest: Bool

    /// Creates the facts from the output of `vault status --json`; `nil` if it is not one.
    package init?(statusOutput line: [UInt8]) {
        guard let status = JSONText(helperLine: line), let elsewhere = status.member("opensElsewhere")?.boolean,
            let pin = status.member("pin")?.boolean
        else { return nil }
        (opensElsewhere, hasPIN) = (elsewhere, pin)
        isTPMUsed = status.isTrue("tpm")
        isTest = status.isTrue("test")
        recoveryCodes = status.count("recoveryCodes") ?? 0
        records = status.count("records") ?? 0
        lastBackup = status.time("lastBackup")
    }

    /// The most urgent advice; `nil` if nothing is missing.
    package var advice: Advice? { !hasPIN ? .choosePIN : !opensElsewhere ? .makeRecoveryCode : nil }

    /// Returns the last backup in words.
    package func backupText(_ clock: LocalClock) -> String {
        lastBackup.map { tr("Last backup {date}", ["date": clock.day($0)]) } ?? tr("No backup from this device yet")
    }

    /// The recovery codes in words.
    package var recoveryText: String {
        opensElsewhere
            ? recoveryCodes == 0
                ? tr("A passphrase opens the vault elsewhere")
                : tr("{count} recovery code exists", plural: "{count} recovery codes exist", count: recoveryCodes)
            : tr("Without one, the vault is lost with this device")
    }
}

extension VaultOverview.Advice {
    /// The advice in words.
    package var text: String {
        switch self {
        case .choosePIN: tr("Choose a PIN for this device, with the recovery code of the vault")
        case .makeRecoveryCode: tr("Make a recovery code, or a lost device loses your passkeys")
        }
    }
}

/// The state of the switch for a protection that this device may lack.
package struct ProtectionSwitch: Equatable, Sendable {
    /// True if the protection is used.
    package let isOn: Bool
    /// True if the user can change it.
    package let isAvailable: Bool
    /// The state in words.
    package let text: String

    /// Creates the switch for the TPM from the output of `vault tpm status --json`; `nil` if it is not one.
    package init?(tpmOutput line: [UInt8]) {
        guard let status = JSONText(helperLine: line), let protection = status.member("protection") else { return nil }
        isOn = protection.text == "tpm"
        let tpm = status.member("tpm")
        let hasTPM = tpm?.isObject == true
        isAvailable = hasTPM || isOn
        if tpm?.isTrue("lockedOut") == true {
            let minutes = tpm?.count("waitMinutes") ?? 1
            text = tr("Refuses PINs for {count} minute", plural: "Refuses PINs for {count} minutes", count: minutes)
        } else if !hasTPM {
            text = tr("This device has no TPM that can be used")
        } else {
            text = isOn ? tr("The TPM counts wrong PINs") : tr("A copied disk could be searched for the PIN")
        }
    }

    /// Creates the switch for fingerprints from the output of `vault finger status --json`; `nil` if it is not one.
    package init?(fingerOutput line: [UInt8]) {
        guard let status = JSONText(helperLine: line), let enabled = status.member("enabled")?.boolean else {
            return nil
        }
        isOn = enabled
        let fingers = status.member("fingers")?.elements?.count ?? 0
        let hasSensor = status.member("sensor")?.text != nil
        isAvailable = enabled || (hasSensor && fingers > 0 && status.isTrue("agent"))
        if !hasSensor {
            text = tr("There is no fingerprint sensor")
        } else if fingers == 0 {
            text = tr("No finger is enrolled on this device")
        } else if !status.isTrue("agent") {
            text = tr("The service for fingerprints does not run")
        } else {
            text = tr("Replaces the PIN after the first time")
        }
    }
}
