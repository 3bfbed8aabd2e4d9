// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridSession

/// The steps of a scan on standard error: as lines, since pinentry may write on the same terminal, or as JSON.
struct ScanProgress: Sendable {
    let report: ProgressReport

    init(json: Bool) {
        report = ProgressReport(program: HybridAuth.programName, manner: json ? .json : .lines)
    }

    /// Shows what happened.
    @Sendable func show(_ event: AuthenticatorEvent) {
        switch event {
        case .tunnelOpen(let domain):
            enter("tunnel-open", "the relay \(domain.host) keeps a tunnel", [("relay", domain.host)])
        case .advertising: enter("advertising", "telling the other device by Bluetooth that this one is near")
        case .redirected(let step):
            report.tell(
                ProgressState(
                    "redirected",
                    "\(step.from) sends to \(step.to)",
                    details: [("from", step.from), ("to", step.to)]
                )
            )
        case .listeningByRadio: tell("listening-by-bluetooth", "the other device may also connect by Bluetooth alone")
        case .radioChannelFailed(let failure):
            tell(
                "bluetooth-channel-failed",
                "there is no Bluetooth channel (\(failure.words)); the other device must come through the relay"
            )
        case .relayOut(let error):
            report.tell(
                ProgressState(
                    "relay-out",
                    "the other device must connect by Bluetooth: \(error.sentence)",
                    details: [("code", error.code)]
                )
            )
        case .clientVerified(over: .webSocket): enter("connected", "the other device heard it; connected")
        case .clientVerified(over: .l2cap):
            enter("connected", "the other device heard it; connected by Bluetooth", [("channel", "bluetooth")])
        case .request(.makeCredential): enter("asked", "it asks for a new passkey", [("operation", "create")])
        case .request(.getAssertion): enter("asked", "it asks for a sign-in", [("operation", "sign-in")])
        case .request(nil): enter("asked", "it sent a request that can't be read", [("operation", "unreadable")])
        case .answered(let status) where status == .success: enter("answered", "it has its answer")
        case .request, .answered: break
        }
    }

    /// Something to know that is no state.
    func tell(_ name: String, _ text: String) { report.tell(ProgressState(name, text)) }

    private func enter(_ name: String, _ text: String, _ details: [(name: String, value: String)] = []) {
        report.enter(ProgressState(name, text, details: details))
    }
}
