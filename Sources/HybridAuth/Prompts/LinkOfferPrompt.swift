// SPDX-License-Identifier: Apache-2.0

internal import HybridPinentry

/// The question whether to link the device whose code was scanned.
struct LinkOfferPrompt: Sendable {
    /// The pinentry program; `nil` for the default.
    let pinentry: String?

    /// Asks whether to link; returns false unless the user agrees.
    func ask(relay: String) async throws -> Bool {
        do throws(PinentryError) {
            let answer = try await Pinentry.forSignIn(pinentry).confirm(
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
