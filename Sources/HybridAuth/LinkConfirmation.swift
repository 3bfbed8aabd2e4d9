// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPinentry
public import HybridPrimitives

/// A failure that the person knows of, by a button pressed or a window read: it needs no other window.
struct AlreadyShownFailure: Error {
    let failure: CommandFailure

    init(_ sentence: String, status: ExitStatus) { self.init(CommandFailure(sentence, status: status)) }

    init(_ failure: CommandFailure) { self.failure = failure }
}

/// The question that comes first when a link started the program: a page or a message can open links, too.
///
/// It is asked before any radio, bus or network is used, so that a link that nobody wanted learns nothing, not even
/// that somebody is here. Nobody sees standard error then, so failures are shown the same way.
struct LinkConfirmation {
    private static let title = "Sign in on another device"
    private static let patience = Duration.seconds(60)
    private static let mostBytes = 800

    private let pinentry: Pinentry

    /// - Parameter program: The pinentry program, or `nil` for the usual ones.
    init(program: String?) throws {
        do {
            pinentry = try Pinentry(program: program)
        } catch {
            throw CommandFailure(error.sentence, status: .unavailable)
        }
    }

    /// Returns if the person wants to go on.
    func ask(relay: String, age: UInt64?) async throws {
        let made = age.map { " It was made \(CodeAge.words($0)) ago." } ?? ""
        let old = CodeAge.warning(age).map { "\n\n\($0)" } ?? ""
        do {
            let answer = try await pinentry.confirm(
                title: Self.title,
                description: "A link asks this device to sign in on another one.\n\nGo on only if you have just read a "
                    + "code from a device before you.\(made) The relay \(relay) and Bluetooth will be used.\(old)",
                ok: "Go on",
                cancel: "Decline",
                timeout: Self.patience
            )
            guard answer == .yes else {
                throw AlreadyShownFailure("you declined; nothing was sent", status: .notPermitted)
            }
        } catch let error as PinentryError {
            switch error {
            case .cancelled: throw AlreadyShownFailure("you declined; nothing was sent", status: .notPermitted)
            case .timedOut: throw CommandFailure("nobody answered in time; nothing was sent", status: .temporary)
            case .takenDown:
                await PromptInterruption.takesPlace()
                throw CancellationError()
            default: throw CommandFailure(error.sentence, status: .unavailable)
            }
        }
    }

    /// Shows why nothing came of it; whether anybody reads that changes nothing.
    func show(_ failure: CommandFailure) async {
        try? await pinentry.message(
            title: Self.title,
            description: Self.shown(failure.sentence),
            timeout: Self.patience
        )
    }

    /// As much as surely fits a line of the protocol, without what a window may take for mark-up.
    private static func shown(_ sentence: String) -> String {
        var (text, bytes) = (String.UnicodeScalarView(), 0)
        for scalar in StandardError.oneLine(sentence).unicodeScalars where !"<>&".unicodeScalars.contains(scalar) {
            bytes += UTF8.width(scalar)
            guard bytes <= mostBytes else { break }
            text.append(scalar)
        }
        return String(text)
    }
}
