// SPDX-License-Identifier: Apache-2.0

internal import HybridTranslation

/// The app's words for a failure: a heading, and what to do.
package struct FailureWords: Hashable, Sendable {
    /// The heading.
    package let title: String
    /// The advice; empty if the heading says all.
    package let advice: String

    fileprivate init(_ title: String, _ advice: String = "") { (self.title, self.advice) = (title, advice) }
}

extension AuthFailure {
    /// The words for the user.
    package var words: FailureWords {
        userWords ?? otherDeviceWords ?? transferWords ?? networkWords ?? bluetoothWords ?? vaultWords ?? codeWords
            ?? FailureWords(tr("It did not work"), tr("Try again. The report below helps those who support you."))
    }

    /// A heading and advice in one line, for a toast.
    package var sentence: String {
        let words = words
        return words.advice.isEmpty ? words.title : "\(words.title). \(words.advice)"
    }

    private var userWords: FailureWords? {
        switch code {
        case "declined": FailureWords(tr("You declined"), tr("Nothing was signed or changed."))
        case "interrupted", "cancelled": FailureWords(tr("Cancelled"))
        case "not-answered-in-time":
            FailureWords(tr("The question was not answered in time"), tr("Scan a new code."))
        case "wrong-pin": FailureWords(tr("The PIN was wrong"), tr("Nothing was signed or changed. Try again."))
        case "pin-wait", "locked-out": FailureWords(tr("Too many wrong PINs"), waitAdvice)
        case "no-passkey":
            FailureWords(tr("No passkey for this site"), tr("Register at the site first, or use another device."))
        case "no-passkey-page":
            FailureWords(tr("This site names no page for passkeys"), tr("Look in the settings of your account there."))
        case "already-registered":
            FailureWords(tr("There is already a passkey for this site"), tr("Sign in with it instead."))
        case "too-many-requests":
            FailureWords(tr("This code asked too often"), tr("Scan a new code if you trust the other device."))
        case "user-not-reachable":
            FailureWords(
                tr("The question can't be shown"),
                tr("The part of this app that asks for the PIN is missing.")
            )
        case "session-locked": FailureWords(tr("The screen is locked"), tr("Unlock it and try again."))
        case "busy": FailureWords(tr("Another request is in progress"), tr("Finish it first, then try again."))
        case "malformed", "usage", "internal-fault", "unknown-command":
            FailureWords(tr("The parts of this app do not fit together"), tr("Update the system, then try again."))
        case "not-installed": FailureWords(tr("A part of this app is missing"), tr("Install hybrid-auth."))
        default: nil
        }
    }

    private var waitAdvice: String {
        guard let waitSeconds, waitSeconds > 0 else { return tr("Wait a while, then try again.") }
        return waitSeconds < 90
            ? tr("Try again in {count} second.", plural: "Try again in {count} seconds.", count: waitSeconds)
            : tr(
                "Try again in {count} minute.",
                plural: "Try again in {count} minutes.",
                count: (waitSeconds + 59) / 60
            )
    }

    private var otherDeviceWords: FailureWords? {
        switch code {
        case "client-not-nearby":
            FailureWords(
                tr("The other device did not find this one"),
                tr("Move closer, check that its Bluetooth is on, and scan again.")
            )
        case "tunnel-expired", "tunnel-not-found":
            FailureWords(tr("The code has expired"), tr("Show a new one and scan it."))
        case "client-not-verified":
            FailureWords(
                tr("A device that is not nearby tried to use the code"),
                tr("Nothing was answered. Scan a new code.")
            )
        case "client-silent", "client-vanished", "cancelled-by-client", "tunnel-closed":
            FailureWords(tr("The other device ended the request"), tr("Scan a new code."))
        case "client-misbehaved", "silent-request", "signed-data-mismatch", "request-unusable":
            FailureWords(tr("The other device can't be trusted"), tr("Nothing was signed."))
        case "algorithm-not-supported":
            FailureWords(tr("This site needs another kind of passkey"), tr("Use another device for it."))
        default: nil
        }
    }

    private var transferWords: FailureWords? {
        switch code {
        case "giver-not-nearby":
            FailureWords(
                tr("No device that gives was found"),
                tr("Scan the code there, and keep both devices close to each other.")
            )
        case "receiver-not-nearby":
            FailureWords(
                tr("The other device did not find this one"),
                tr("Move closer, and scan a new code: another device may have used this one.")
            )
        case "transfer-digits":
            FailureWords(
                tr("You did not confirm the digits"),
                tr("If they differed, start again, and scan the code of the device in front of you.")
            )
        case "giver-silent", "giver-vanished", "receiver-silent", "receiver-vanished", "transfer-refused":
            FailureWords(tr("The other device ended the transfer"), tr("Start again with a new code."))
        case "giver-misbehaved", "receiver-misbehaved", "transfer-manipulated", "transfer-unconfirmed",
            "transfer-malformed", "transfer-purpose", "transfer-version":
            FailureWords(tr("The other device does not fit this one"), tr("Update both, then start again."))
        case "same-vault": FailureWords(tr("Both devices have the same vault"), tr("Its files keep them equal."))
        case "transfer-full":
            FailureWords(tr("There is no room for the passkeys"), tr("Free some space, then start again."))
        case "transfer-nothing", "transfer-too-large": FailureWords(tr("This passkey can't be given"))
        default: nil
        }
    }

    private var networkWords: FailureWords? {
        switch code {
        case "relay-host-not-found", "relay-connection-refused", "relay-unreachable", "relay-timed-out",
            "relay-hung-up",
            "relay-silent", "relay-stalled", "connection-lost":
            FailureWords(tr("The relay can't be reached"), tr("Check the network, then try again."))
        case "relay-busy": FailureWords(tr("The relay is busy"), tr("Try again in a minute."))
        case "relay-token-refused":
            FailureWords(tr("The relay does not accept this device"), tr("Ask its operator for access."))
        case "relay-refused", "relay-misbehaved", "redirection-refused", "too-many-redirections":
            FailureWords(tr("The relay does not work"), tr("Choose another one, or ask its operator."))
        case "no-relay": FailureWords(tr("No relay is chosen"), tr("Choose one first."))
        case let code where code.hasPrefix("certificate-") || code.hasPrefix("tls-"):
            FailureWords(
                tr("The relay can't be trusted"),
                tr("Check the clock, and whether the network asks you to sign in.")
            )
        case let code where code.hasPrefix("proxy-"):
            FailureWords(tr("The proxy does not let this through"), tr("Check the network's settings."))
        default: nil
        }
    }

    private var bluetoothWords: FailureWords? {
        switch code {
        case "adapter-off": FailureWords(tr("Bluetooth is off"), tr("Turn it on, then try again."))
        case "no-adapter", "adapter-not-found", "no-low-energy":
            FailureWords(tr("No usable Bluetooth"), tr("This device needs Bluetooth 4.0 or newer."))
        case "no-advertising-slot":
            FailureWords(tr("Bluetooth is busy"), tr("Close other programs that use it, then try again."))
        case "no-system-bus", "no-bluetooth-service", "bluetooth-service-gone", "bluetooth-busy", "bluetooth-timed-out",
            "bluetooth-interrupted", "bluetooth-failed":
            FailureWords(tr("Bluetooth does not answer"), tr("Turn it off and on, then try again."))
        case "bluetooth-not-permitted": FailureWords(tr("Bluetooth is not permitted for this user"))
        default: nil
        }
    }

    private var vaultWords: FailureWords? {
        switch code {
        case "no-vault": FailureWords(tr("There is no vault yet"), tr("Set up this device first."))
        case "not-found":
            FailureWords(tr("It is not there any more"), tr("It may have been deleted on another device."))
        case "ambiguous": FailureWords(tr("Several entries match"))
        case "vault-unusable":
            FailureWords(tr("The vault can't be opened"), tr("Check this device, or restore a backup."))
        case "file-exists": FailureWords(tr("There is already a file of this name"), tr("Choose a different name."))
        case "not-saved", "not-written":
            FailureWords(tr("It could not be saved"), tr("Free some space or choose another folder, then try again."))
        case "tpm-locked-out":
            FailureWords(tr("The TPM refuses further PINs"), tr("Wait some minutes, then try again."))
        case "tpm-absent", "tpm-library-missing", "tpm-not-permitted", "tpm-unsuitable-key", "tpm-owner-password":
            FailureWords(tr("This device's TPM can't be used"))
        case "tpm-cleared", "tpm-other", "tpm-object-damaged":
            FailureWords(tr("The TPM does not know the PIN any more"), tr("Set a new PIN with your recovery code."))
        case "no-fingerprint-sensor", "fprintd-missing": FailureWords(tr("There is no fingerprint sensor"))
        case "no-enrolled-fingers":
            FailureWords(tr("No finger is enrolled"), tr("Enroll one in the settings of this device."))
        case "agent-not-running": FailureWords(tr("The service for fingerprints does not run"))
        default: nil
        }
    }

    private var codeWords: FailureWords? {
        switch code {
        case "bad-data":
            FailureWords(tr("This can't be used"), tr("Try another code, a sharper picture or another file."))
        case "no-input": FailureWords(tr("The file can't be read"), tr("Choose another one."))
        case "unavailable": FailureWords(tr("Something on this device is not available"), tr("Check this device."))
        case "temporary": FailureWords(tr("It did not work this time"), tr("Try again."))
        case "not-permitted": FailureWords(tr("It was not permitted"), tr("Nothing was signed or changed."))
        case "configuration": FailureWords(tr("A setting is wrong"), tr("Check this device."))
        case "ended": FailureWords(tr("The request ended unexpectedly"), tr("Try again."))
        default: nil
        }
    }
}
