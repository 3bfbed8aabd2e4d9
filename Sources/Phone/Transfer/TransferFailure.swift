// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
package import HybridPrimitives

/// A reason why a transfer ends, with what the other device is told.
package struct TransferFailure: ExplainedFailure, Hashable {
    package let code: String
    package let sentence: String
    package let status: ExitStatus
    /// The reason that the other device is told; `nil` if it refused itself.
    package let refusal: TransferRefusal?

    private init(_ code: String, _ status: ExitStatus, _ refusal: TransferRefusal?, _ sentence: String) {
        (self.code, self.status, self.refusal, self.sentence) = (code, status, refusal, sentence)
    }

    // MARK: - Of this side

    /// The user of this device declined.
    package static let declined = TransferFailure(
        "transfer-declined",
        .notPermitted,
        .declined,
        "you declined; start again if that was a mistake"
    )
    /// The user of this device did not confirm that the digits are the same.
    package static let digitsDiffer = TransferFailure(
        "transfer-digits",
        .notPermitted,
        .digits,
        "you did not confirm the digits; if they differed, the other device is not the one in front of you: start again, and "
            + "scan a new code from its screen"
    )
    /// There is no room for the passkeys on this device.
    package static let full = TransferFailure(
        "transfer-full",
        .ioError,
        .full,
        "there is no room for the passkeys; free some space, then transfer again: what arrived is skipped"
    )
    /// Something else failed on this device.
    package static let failed = TransferFailure(
        "transfer-failed",
        .software,
        .failed,
        "the transfer failed on this device; transfer again: what arrived is skipped"
    )
    /// There are no passkeys to give.
    package static let nothingToGive = TransferFailure(
        "transfer-nothing",
        .usage,
        .failed,
        "there is no passkey to give; choose at least one"
    )
    /// There are more passkeys than one transfer can have, or their names are too long for one message.
    package static let tooLong = TransferFailure(
        "transfer-too-large",
        .usage,
        .failed,
        "these are too many passkeys for one transfer; give them in parts, site by site"
    )

    /// A passkey is too large for a message.
    package static func tooLarge(_ label: String) -> TransferFailure {
        TransferFailure(
            "transfer-too-large",
            .dataError,
            .failed,
            "the passkey for \(SafeText(quoting: label)) is too large for a transfer; leave it out"
        )
    }

    // MARK: - Of the other side

    /// The other device speaks another version.
    package static let version = TransferFailure(
        "transfer-version",
        .dataError,
        .version,
        "the other device uses a different version for transfers; update the older one of both programs"
    )
    /// Both devices have the same vault.
    package static let sameVault = TransferFailure(
        "same-vault",
        .usage,
        .sameVault,
        "both devices have the same vault, which its files already keep equal; sync them instead"
    )
    /// The nonce of the other device is not the one that it had committed itself to.
    package static let manipulated = TransferFailure(
        "transfer-manipulated",
        .dataError,
        .malformed,
        "the other device tried to choose the digits; it is not the one in front of you, so do not try again here"
    )
    /// A payload is not sealed for this transfer.
    package static let notAuthentic = TransferFailure(
        "transfer-manipulated",
        .dataError,
        .malformed,
        "the passkeys are damaged, or sealed for a different transfer; transfer again: what arrived before is kept"
    )
    /// The other device confirmed something that it was not sent.
    package static let unconfirmed = TransferFailure(
        "transfer-unconfirmed",
        .dataError,
        .malformed,
        "the other device confirmed passkeys that it was not sent, so all of them stay here; update its program"
    )

    /// The other device wants another purpose than its code states.
    package static func purpose(expected: TransferPurpose) -> TransferFailure {
        let purpose = expected == .give ? "receiving passkeys" : "joining a vault"
        return TransferFailure(
            "transfer-purpose",
            .dataError,
            .purpose,
            "the code is for \(purpose), but the other device wants something else; scan the code again"
        )
    }

    /// A message or a file breaks the rules.
    package static func malformed(_ reason: String) -> TransferFailure {
        TransferFailure(
            "transfer-malformed",
            .dataError,
            .malformed,
            "the other side sent something that this program does not accept (\(reason)); update the older program"
        )
    }

    /// The other device refused.
    package static func refused(_ refusal: TransferRefusal) -> TransferFailure {
        let explanation: (ExitStatus, String) =
            switch refusal {
            case .declined:
                (.notPermitted, "its user declined; agree on the transfer and the digits, then start again")
            case .digits:
                (.notPermitted, "its user did not confirm the digits; compare them again, with a new code")
            case .version: (.dataError, "it needs a different version; update the older one of both programs")
            case .purpose: (.dataError, "it expected a different kind of transfer; scan the code again")
            case .malformed: (.dataError, "it did not accept a message; update the older one of both programs")
            case .full: (.ioError, "it has no room for the passkeys; free some space there, then start again")
            case .sameVault: (.usage, "it has the same vault; sync the files of the vault instead")
            case .failed: (.temporary, "it failed there; its screen names the cause")
            }
        let sentence = "the other device ended the transfer: " + explanation.1
        return TransferFailure("transfer-refused", explanation.0, nil, sentence)
    }
}
