// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram

/// A failure that the user has already seen or caused in a window, so that no other window is needed.
struct AlreadyShownFailure: Error {
    let failure: CommandFailure

    /// Creates the failure after the user has declined.
    init(declined sentence: String) {
        self.init(CommandFailure(sentence, code: "declined", status: .notPermitted))
    }

    init(_ failure: CommandFailure) { self.failure = failure }
}

/// The prompt that precedes everything else if a URL started the program, because websites and messages can open URLs.
///
/// It comes before any radio, bus or network is used, so that an unwanted URL reveals nothing, not even that this
/// device is running. The user does not see standard error, so failures are also shown in a window.
struct OpenedURLPrompt: Sendable {
    private static let maximumBytes = 800

    let questioner: Questioner

    /// Asks for confirmation; throws an error unless the user agrees.
    func ask(relay: String, age: UInt64?) async throws {
        let isAgreed =
            if let program = await questioner.program {
                try await ask(program, relay, age)
            } else {
                try await askWithPinentry(relay, age)
            }
        if !isAgreed { throw AlreadyShownFailure(declined: "you declined; nothing was sent") }
    }

    private static let unanswered = CommandFailure(
        "the question was not answered in time; nothing was sent",
        status: .temporary
    )

    private func ask(_ program: AskProgram, _ relay: String, _ age: UInt64?) async throws -> Bool {
        var members: [AskMembers.Member] = [("relay", .string(relay))]
        if let age { members.append(("codeAge", .number(Int(clamping: age)))) }
        members += AskMembers.warnings(age: age)
        do throws(AskRefusal) {
            try await program.agree(to: AskQuestion(.openedLink, within: Pinentry.signInLimit, members))
            return true
        } catch {
            switch error {
            case .declined, .tooLong: return false
            case .timedOut: throw Self.unanswered
            case .interrupted: throw CancellationError()
            }
        }
    }

    private func askWithPinentry(_ relay: String, _ age: UInt64?) async throws -> Bool {
        let made = age.map { " It was made \(CodeAge.text($0)) ago." } ?? ""
        let old = CodeAge.warning(age).map { "\n\n\($0)" } ?? ""
        do throws(PinentryError) {
            let answer = try await questioner.pinentry().confirm(
                description: "A link asks this device to sign in on another one. The code came from the link, not "
                    + "from a camera.\n\nContinue only if you just scanned a code on a device in front of you.\(made) "
                    + "The relay \(relay) and Bluetooth will be used.\(old)",
                ok: "Continue",
                cancel: "Decline"
            )
            return answer == .yes
        } catch {
            switch error {
            case .timedOut: throw Self.unanswered
            case .interrupted: throw await PromptInterruption.propagate()
            default: throw error
            }
        }
    }

    /// Shows a failure in a window of pinentry; errors of the prompt are ignored.
    static func show(_ failure: CommandFailure, with pinentry: Pinentry?) async {
        try? await pinentry?.message(description: shortened(failure.sentence))
    }

    /// Returns the beginning of a sentence that fits a line of the protocol, without markup characters.
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
