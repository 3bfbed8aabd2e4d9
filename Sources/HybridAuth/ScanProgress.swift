// SPDX-License-Identifier: Apache-2.0

internal import CTAP
internal import CaBLE
internal import DataChannel
internal import HybridSession
internal import ServiceSupport

/// The steps of a scan as lines on standard error.
enum ScanProgress {
    @Sendable static func show(_ event: AuthenticatorEvent) {
        switch event {
        case .redirected(let step): say("\(step.from) sends to \(step.to)")
        case .tunnelOpen(let domain): say("the relay \(domain.host) keeps a tunnel")
        case .advertising: say("telling the other device by Bluetooth that this one is near")
        case .clientVerified: say("the other device heard it; connected")
        case .request(.makeCredential): say("it asks for a new passkey")
        case .request(.getAssertion): say("it asks for a sign-in")
        case .request(nil): say("it sent a request that can't be read")
        case .request, .answered: break
        }
    }

    private static func say(_ text: String) { StandardError.writeLine("\(HybridAuth.programName): \(text)") }
}
