// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// An event of a helper, read from one line of its standard error.
package enum AuthEvent: Equatable, Sendable {
    /// A state of the command; of a scan also the operation that the other device asks for.
    case state(String, operation: String?)
    /// A step of a transfer.
    case transfer(TransferEvent)
    /// A notice, which does not change the state.
    case notice(String)
    /// A result of the doctor.
    case finding(HealthFinding)
    /// The failure with which the command ends.
    case failure(AuthFailure)

    /// Creates an event from a line; `nil` if the line is not one.
    package init?(_ line: [UInt8]) {
        guard let event = JSONText(helperLine: line) else { return nil }
        switch event.member("event")?.text {
        case "qr":
            guard let code = TransferEvent(code: event) else { return nil }
            self = .transfer(code)
        case "passkeys":
            guard let list = TransferEvent(passkeys: event) else { return nil }
            self = .transfer(list)
        case "state" where TransferEvent.states.contains(event.member("state")?.text ?? ""):
            guard let step = TransferEvent(state: event) else { return nil }
            self = .transfer(step)
        case "state":
            guard let state = event.shortText("state", atMost: 64) else { return nil }
            self = .state(state, operation: event.shortText("operation", atMost: 64))
        case "notice":
            guard let notice = event.shortText("notice", atMost: 64) else { return nil }
            self = .notice(notice)
        case "check":
            guard let finding = HealthFinding(event) else { return nil }
            self = .finding(finding)
        case "error": self = .failure(AuthFailure(event))
        default: return nil
        }
    }
}
