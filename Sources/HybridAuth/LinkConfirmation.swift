// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
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
    private static let title = "Sign in on another device"
    private static let timeout = Duration.seconds(60)
    private static let maximumBytes = 800

    private let pinentry: Pinentry

    /// Creates a confirmation.
    ///
    /// - Parameter program: The pinentry program, or `nil` for the default.
    init(program: String?) throws {
        do {
            pinentry = try Pinentry(program: program)
        } catch {
            throw CommandFailure(error.sentence, status: .unavailable)
        }
    }

    /// Returns if the user agrees; throws otherwise.
    func ask(relay: String, age: UInt64?) async throws {
        let made = age.map { " It was made \(CodeAge.text($0)) ago." } ?? ""
        let old = CodeAge.warning(age).map { "\n\n\($0)" } ?? ""
        let declined = AlreadyShownFailure("you declined; nothing was sent", status: .notPermitted)
        do {
            let answer = try await pinentry.confirm(
                title: Self.title,
                description: "A link asks this device to sign in on another one.\n\nGo on only if you have just read a "
                    + "code from a device before you.\(made) The relay \(relay) and Bluetooth will be used.\(old)",
                ok: "Go on",
                cancel: "Decline",
                timeout: Self.timeout
            )
            guard answer == .yes else { throw declined }
        } catch let error as PinentryError {
            switch error {
            case .cancelled: throw declined
            case .timedOut:
                throw CommandFailure("the question was not answered in time; nothing was sent", status: .temporary)
            case .interrupted:
                await PromptInterruption.propagate()
                throw CancellationError()
            default: throw CommandFailure(error.sentence, status: .unavailable)
            }
        }
    }

    /// Shows a failure; ignores whether the user reads it.
    func show(_ failure: CommandFailure) async {
        try? await pinentry.message(
            title: Self.title,
            description: Self.shortened(failure.sentence),
            timeout: Self.timeout
        )
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
