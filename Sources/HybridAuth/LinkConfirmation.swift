// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives

/// A failure that the user already knows, from a button or a window; it needs no other window.
struct AlreadyShownFailure: Error {
    let failure: CommandFailure

    init(_ sentence: String, status: ExitStatus) { self.init(CommandFailure(sentence, status: status)) }

    init(_ failure: CommandFailure) { self.failure = failure }
}

/// The confirmation that comes first if a link started the program, because pages and messages can also open links.
///
/// It is asked before any radio, bus or network is used, so that an unwanted link reveals nothing, not even that this
/// device is running. The user does not see standard error, so failures are shown in a window, too.
struct LinkConfirmation: Sendable {
    private static let maximumBytes = 800

    let pinentry: Pinentry

    /// Returns if the user agrees; throws otherwise.
    func ask(relay: String, age: UInt64?) async throws {
        let made = age.map { " It was made \(CodeAge.text($0)) ago." } ?? ""
        let old = CodeAge.warning(age).map { "\n\n\($0)" } ?? ""
        do throws(PinentryError) {
            let answer = try await pinentry.confirm(
                description: "A link asks this device to sign in on another one.\n\nGo on only if you have just read a "
                    + "code from a device before you.\(made) The relay \(relay) and Bluetooth will be used.\(old)",
                ok: "Go on",
                cancel: "Decline"
            )
            if answer == .yes { return }
        } catch {
            switch error {
            case .timedOut:
                throw CommandFailure("the question was not answered in time; nothing was sent", status: .temporary)
            case .interrupted: throw await PromptInterruption.propagate()
            default: throw error
            }
        }
        throw AlreadyShownFailure("you declined; nothing was sent", status: .notPermitted)
    }

    /// Shows a failure; ignores whether the user reads it.
    func show(_ failure: CommandFailure) async {
        try? await pinentry.message(description: Self.shortened(failure.sentence))
    }

    /// Returns as much of a sentence as fits a line of the protocol, without characters of markup.
    private static func shortened(_ sentence: String) -> String {
        var (text, bytes) = (String.UnicodeScalarView(), 0)
        for scalar in StandardError.oneLine(sentence).unicodeScalars where !"<>&".unicodeScalars.contains(scalar) {
            bytes += UTF8.width(scalar)
            guard bytes <= maximumBytes else { break }
            text.append(scalar)
        }
        return String(text)
    }
}
