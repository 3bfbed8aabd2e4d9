// SPDX-License-Identifier: Apache-2.0

/// Why a question was not answered.
public enum PinentryError: Error, Equatable, Sendable {
    /// No such program; names what was looked for.
    case notFound(String)
    /// What was named is no program that can be run: a folder, or a file that may not be executed; names it.
    case cannotRun(String)
    /// The program was started and did not greet; names it.
    case didNotStart(String)
    /// What the program said is not Assuan, or far too much of it.
    case spokeNonsense
    /// The program could not ask, with the gpg-error code of the cause: mostly no terminal and no display.
    case couldNotAsk(code: Int)
    /// The text is longer than a line of the protocol (1,000 bytes).
    case textTooLong
    /// The person cancelled.
    case cancelled
    /// Nobody answered in time.
    case timedOut
    /// A new PIN was refused too often.
    case tooManyTries
    /// The program ended in the middle.
    case gone
    /// The calling task was cancelled, and the prompt was taken down; or the program was ended by SIGINT, SIGHUP or
    /// SIGTERM, as by Ctrl-C, which may come to it before it comes to us.
    case takenDown

    /// The cause and the remedy, for people, on one line.
    public var sentence: String {
        switch self {
        case .notFound(let name):
            "there is no pinentry (\(name)); install pinentry-curses or name another with --pinentry"
        case .cannotRun(let name):
            "\(name) can't be run; name an executable file with --pinentry"
        case .didNotStart(let name): "\(name) did not start; name another with --pinentry"
        case .spokeNonsense: "the pinentry program does not speak Assuan; name another with --pinentry"
        case .couldNotAsk(let code):
            "pinentry could not ask (gpg-error \(code)): it has no terminal or display; set GPG_TTY or DISPLAY"
        case .textTooLong: "the question is too long for pinentry; nothing was asked"
        case .cancelled: "the question was cancelled"
        case .timedOut: "nobody answered in time; try again"
        case .tooManyTries: "no PIN was chosen after several tries; try again"
        case .gone: "pinentry ended in the middle of a question; try again or name another with --pinentry"
        case .takenDown: "the question was taken down"
        }
    }
}
