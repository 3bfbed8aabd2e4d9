// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridPinentry
internal import HybridPrimitives

/// The question whether to link the device whose code was scanned.
struct LinkOfferPrompt: Sendable {
    let questioner: Questioner

    /// Asks whether to link; returns false unless the user agrees.
    func ask(relay: String) async throws -> Bool {
        guard let program = await questioner.program else { return try await askWithPinentry(relay: relay) }
        do throws(AskRefusal) {
            try await program.agree(to: AskQuestion(.link, within: Pinentry.signInLimit, [("relay", .string(relay))]))
            return true
        } catch {
            if error == .interrupted { throw CancellationError() }
            return false
        }
    }

    private func askWithPinentry(relay: String) async throws -> Bool {
        do throws(PinentryError) {
            let answer = try await questioner.pinentry().confirm(
                description: "Link this device with the computer that shows the code?\n\nThe computer can then ask "
                    + "this device again without a code, through the relay \(relay). Each request still needs a "
                    + "tap, the PIN and Bluetooth.\n\nLink only your own computer.",
                ok: "Link",
                cancel: "Don't link"
            )
            return answer == .yes
        } catch {
            switch error {
            case .timedOut, .cancelled: return false
            case .interrupted: throw await PromptInterruption.propagate()
            default: throw error
            }
        }
    }
}
