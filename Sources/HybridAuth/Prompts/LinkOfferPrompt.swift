// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridPhoneLinks
internal import HybridPinentry
internal import HybridPrimitives

/// The question whether to link the device whose code was scanned.
struct LinkOfferPrompt: Sendable {
    let questioner: Questioner

    /// The user's answer.
    enum Answer {
        case declined
        /// The user agreed, and may have named the computer.
        case agreed(label: String?)
    }

    /// Asks whether to link.
    func ask(relay: String) async throws -> Answer {
        guard let program = await questioner.program else { return try await askWithPinentry(relay: relay) }
        let question = AskQuestion(.link, within: Pinentry.signInLimit, [("relay", .string(relay))])
        do throws(AskRefusal) {
            switch try await program.ask(question) {
            case .agreed: return .agreed(label: nil)
            case .named(let name):
                let label = name.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
                // Another name does not cost the link, which the user can rename.
                return .agreed(label: label.flatMap { StoredPhoneLink.isLabel($0) ? $0 : nil })
            case .typed, .account: return .declined
            }
        } catch {
            if error == .interrupted { throw CancellationError() }
            return .declined
        }
    }

    private func askWithPinentry(relay: String) async throws -> Answer {
        do throws(PinentryError) {
            let answer = try await questioner.pinentry().confirm(
                description: "Link this device with the computer that shows the code?\n\nThe computer can then ask "
                    + "this device again without a code, through the relay \(relay). Each request still needs a "
                    + "tap, the PIN and Bluetooth.\n\nLink only your own computer.",
                ok: "Link",
                cancel: "Don't link"
            )
            return answer == .yes ? .agreed(label: nil) : .declined
        } catch {
            switch error {
            case .timedOut, .cancelled: return .declined
            case .interrupted: throw await PromptInterruption.propagate()
            default: throw error
            }
        }
    }
}
