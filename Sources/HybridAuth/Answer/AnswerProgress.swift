// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridProgram
internal import HybridSession

/// The progress of an answer on standard error: plain lines, since pinentry may use the same terminal, or JSON.
struct AnswerProgress: Sendable {
    let report: ProgressReport
    /// Shows the progress in the window in which the user is asked; `nil` if there is none yet.
    var questioner: Questioner?
    /// True if the program that reads the report shows failures, so that the window does not show them, too.
    private let isShownElsewhere: Bool

    init(json: Bool) {
        self.init(ProgressReport(program: HybridAuth.programName, format: json ? .json : .lines))
    }

    /// Creates the progress of a report.
    init(_ report: ProgressReport) {
        self.report = report
        isShownElsewhere = report.format == .json
    }

    /// Shows an event.
    @Sendable func show(_ event: AuthenticatorEvent) {
        switch event {
        case .tunnelOpen(let domain):
            enter("tunnel-open", "tunnel open at the relay \(domain.host)", [("relay", domain.host)])
        case .advertising: enter("advertising", "advertising over Bluetooth")
        case .radioBusy(let error):
            notify("bluetooth-busy", "\(error.message); trying again", [("code", error.code)])
        case .redirected(let step):
            notify("redirected", "\(step.from) redirects to \(step.to)", [("from", step.from), ("to", step.to)])
        case .listeningByRadio: notify("listening-by-bluetooth", "the other device can also connect by Bluetooth alone")
        case .radioChannelFailed(let failure):
            notify(
                "bluetooth-channel-failed",
                "there is no Bluetooth channel (\(failure.reason)); the other device must connect through the relay"
            )
        case .relayUnusable(let error):
            notify(
                "relay-out",
                "the other device must connect by Bluetooth: \(error.sentence)",
                [("code", error.code)]
            )
        case .clientVerified(over: .webSocket): enter("connected", "the other device is nearby; connected")
        case .clientVerified(over: .l2cap):
            enter("connected", "the other device is nearby; connected by Bluetooth", [("channel", "bluetooth")])
        case .request(.makeCredential):
            enter("asked", "the other device asks for a new passkey", [("operation", "create")])
        case .request(.getAssertion): enter("asked", "the other device asks for a sign-in", [("operation", "sign-in")])
        case .request(nil):
            enter("asked", "the other device sent a request that can't be read", [("operation", "unreadable")])
        case .answered(let status) where status == .success: enter("answered", "response sent")
        case .linkOffered(let code):
            let text = "offered a link; say yes on the computer only if it shows the link code \(code)"
            notify("link-offered", text, [("link_code", code.description)])
        case .request, .answered, .credentialRequested, .credentialAnswered: break
        }
    }

    /// Reports a notice, which does not change the state.
    func notify(_ name: String, _ text: String, _ details: [(name: String, value: String)] = []) {
        report.notify(ProgressState(name, text, details: details))
        questioner?.show(.notice(name, text))
    }

    /// Reports success and ends the report.
    func end() {
        report.end(ProgressState("done", "done"))
        questioner?.show(.state("done"))
        questioner?.finish(.done)
    }

    /// Reports a failure and ends the report; `isKnown` is true if the user has caused or seen it in a window.
    ///
    /// - Returns: True if the window shows the end.
    @discardableResult
    func end(_ failure: CommandFailure, isKnown: Bool) -> Bool {
        report.end(failure)
        return questioner?.finish(.after(failure, isKnown: isKnown || isShownElsewhere)) ?? false
    }

    /// Enters the next state.
    func enter(_ name: String, _ text: String, _ details: [(name: String, value: String)] = []) {
        report.enter(ProgressState(name, text, details: details))
        questioner?.show(.state(name))
    }
}
