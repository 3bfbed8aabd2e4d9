// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridQRCode
internal import HybridSession
internal import HybridThreads

/// What happens, told in one line a step, on standard output.
final class DemoNarration: Sendable {
    private let showsCodes: Bool
    private let steps = Locked(0)
    private let isLost = Locked(false)

    /// Whether standard output took all of it.
    var isTold: Bool { isLost.withLock { !$0 } }

    init(showsCodes: Bool) { self.showsCodes = showsCodes }

    func title(_ text: String) { say("\n\(text)\n") }

    func step(_ who: String, _ what: String) {
        let padding = String(repeating: " ", count: max(1, 9 - who.utf8.count))
        // Two sides speak at once; the lock keeps numbers and lines in one order.
        steps.withLock { number in
            number += 1
            say("\(number < 10 ? " " : "")\(number)  \(who)\(padding)\(what)")
        }
    }

    @Sendable func desktop(_ event: ClientEvent) {
        switch event {
        case .drawn(let offer):
            guard showsCodes else { return step("desktop", "listens to its radio and shows a code") }
            step("desktop", "listens to its radio and shows this code:")
            guard let matrix = try? QRMatrix(text: offer.text) else { return }
            say(matrix.terminalText(style: isatty(STDOUT_FILENO) == 1 ? .coloured : .plainOnDark))
        case .phoneHeard: step("desktop", "hears an advert that the code's key opens: a phone is near")
        case .connecting(let domain): step("desktop", "joins the tunnel at \(domain.host); TLS outside, Noise inside")
        case .radioLost, .radioBack, .connectingByRadio, .connectedByRadio, .radioChannelFailed, .answered: break
        case .redirected(let next): step("desktop", "is sent from \(next.from) to \(next.to)")
        case .waitingForUser: step("desktop", "handshake done, sends its request through the encrypted channel")
        }
    }

    @Sendable func phone(_ event: AuthenticatorEvent) {
        switch event {
        case .redirected(let next): step("phone", "is sent from \(next.from) to \(next.to)")
        case .tunnelOpen(let domain): step("phone", "opens a tunnel at \(domain.host) and is told a routing ID")
        case .advertising: step("phone", "broadcasts 20 encrypted bytes by Bluetooth: nonce, routing ID, relay")
        case .clientVerified:
            step("phone", "the desktop's first message proves that it heard them; the advert is withdrawn")
        case .request(.makeCredential): step("phone", "is asked to create a passkey")
        case .request(.getAssertion): step("phone", "is asked to sign in")
        case .answered(.success): step("phone", "answers, signed with the passkey's key")
        case .request, .answered, .listeningByRadio, .radioChannelFailed, .relayOut: break
        }
    }

    func summary(elapsed: Duration) {
        let tenths = Int(elapsed / .milliseconds(100))
        title("Done in \(tenths / 10).\(tenths % 10) s: one passkey created and used; both answers verified.")
        say(
            "The relay passed ciphertext only. The radio was virtual and the user a script; with two devices, a relay of"
        )
        say("yours and a person, hybrid-client and hybrid-auth do the same.")
    }

    private func say(_ text: String) {
        guard !StandardOutput.writeLine(Array(text.utf8)) else { return }
        isLost.withLock { $0 = true }
    }
}
