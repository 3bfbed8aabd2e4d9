// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridProgram
internal import HybridQRCode
internal import HybridSession
internal import HybridThreads

/// The narration of the demo on standard output, one line for each step.
final class DemoNarration: Sendable {
    private let showsCodes: Bool
    private let steps = Locked(0)
    private let isLost = Locked(false)

    /// True if all lines have been written to standard output.
    var isComplete: Bool { isLost.withLock { !$0 } }

    init(showsCodes: Bool) { self.showsCodes = showsCodes }

    func title(_ text: String) { say("\n\(text)\n") }

    func step(_ actor: String, _ action: String) {
        let padding = String(repeating: " ", count: max(1, 9 - actor.utf8.count))
        // Both devices report concurrently, and the lock ensures that the lines are printed in the order of their
        // numbers.
        steps.withLock { number in
            number += 1
            say("\(number < 10 ? " " : "")\(number)  \(actor)\(padding)\(action)")
        }
    }

    @Sendable func client(_ event: ClientEvent) {
        switch event {
        case .codeReady(let offer):
            guard showsCodes else { return step("client", "scans for adverts and shows a code") }
            step("client", "scans for adverts and shows this code:")
            guard let matrix = try? QRMatrix(text: offer.text) else { return }
            say(matrix.terminalText(style: isatty(STDOUT_FILENO) == 1 ? .colored : .plainOnDark))
        case .phoneFound: step("client", "receives an advert that the code's key decrypts: the phone is near")
        case .connecting(let domain): step("client", "connects to the tunnel at \(domain.host), with Noise inside TLS")
        case .contacting(let name, _):
            step("client", "asks the relay for \(name.quoted), with a proof that it knows the secret of the link")
        case .phoneNotified: step("relay", "wakes the phone and keeps the client's tunnel")
        case .radioLost, .radioRestored, .connectingByRadio, .connectedByRadio, .radioChannelFailed, .answered,
            .waitingForLink, .linkOffered, .transferCodeReady:
            break
        case .redirected(let next): step("client", "is redirected from \(next.from) to \(next.to)")
        case .waitingForUser:
            step("client", "completes the handshake and sends its request through the encrypted channel")
        }
    }

    /// Narrates the events of a phone that was woken.
    @Sendable func linkedPhone(_ event: AuthenticatorEvent) {
        switch event {
        case .tunnelOpen: step("phone", "joins the client's tunnel")
        case .advertising: step("phone", "advertises 20 encrypted bytes, with a key from the link and this request")
        default: phone(event)
        }
    }

    @Sendable func phone(_ event: AuthenticatorEvent) {
        switch event {
        case .redirected(let next): step("phone", "is redirected from \(next.from) to \(next.to)")
        case .tunnelOpen(let domain): step("phone", "opens a tunnel at \(domain.host) and gets a routing ID")
        case .advertising:
            step("phone", "advertises 20 encrypted bytes over Bluetooth: nonce, routing ID, tunnel domain")
        case .clientVerified:
            step("phone", "stops advertising: the client's first message proves that it received the advert")
        case .linkOffered(let code):
            step("phone", "offers a link with the code \(code): contact ID, link ID, secret and its public key")
        case .request(.makeCredential): step("phone", "is asked to create a passkey")
        case .request(.getAssertion): step("phone", "is asked to sign in")
        case .answered(.success): step("phone", "responds with a signature by the passkey")
        case .request, .answered, .listeningByRadio, .radioBusy, .radioChannelFailed, .relayUnusable,
            .credentialRequested, .credentialAnswered:
            break
        }
    }

    func summary(elapsed: Duration, linked: Bool) {
        let tenths = Int(elapsed / .milliseconds(100))
        let facts =
            linked
            ? "one passkey created, one phone linked, three sign-ins without a code; all responses verified"
            : "one passkey created and used; both responses verified"
        title("Done in \(tenths / 10).\(tenths % 10) s: \(facts).")
        say(
            "The relay saw only ciphertext. The radio was virtual, and the user was a script. With two devices, a relay and a user,"
        )
        say("hybrid-client and hybrid-auth do the same.")
    }

    private func say(_ text: String) {
        guard (try? StandardOutput.writeLine(text)) == nil else { return }
        isLost.withLock { $0 = true }
    }
}
