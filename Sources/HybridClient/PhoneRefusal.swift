// SPDX-License-Identifier: Apache-2.0

internal import CTAP
internal import ServiceSupport

/// What a phone's refusal means here.
enum PhoneRefusal {
    static func failure(_ status: CTAPStatus, for site: RelyingPartyID) -> CommandFailure {
        switch status {
        case .operationDenied: CommandFailure("it was declined on the phone", status: .notPermitted)
        case .noCredentials: CommandFailure("the phone has no passkey for \(site)", status: .notPermitted)
        case .credentialExcluded:
            CommandFailure("the phone has a passkey for this account at \(site) already", status: .notPermitted)
        case .keepaliveCancel, .userActionTimeout, .timeout:
            CommandFailure("nobody confirmed on the phone in time; try again", status: .temporary)
        default: CommandFailure("the phone refused: \(status)", status: .notPermitted)
        }
    }
}
