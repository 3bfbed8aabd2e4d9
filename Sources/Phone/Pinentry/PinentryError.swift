// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// The reason why a prompt was not answered.
package struct PinentryError: ExplainedFailure, Hashable {
    /// Cause and remedy on one line.
    package let sentence: String
    /// Exit status of a command that ends with this failure.
    package let status: ExitStatus
    /// Machine-readable cause: the name of the status.
    package var code: String { status.name }

    private init(_ sentence: String, status: ExitStatus = .unavailable) {
        self.sentence = sentence
        self.status = status
    }

    /// No program was found under the given names.
    package static func notFound(_ name: String) -> PinentryError {
        PinentryError("there is no pinentry (\(name)); install pinentry-curses or choose another with --pinentry")
    }

    /// A path that cannot be run, such as a directory or a file without execute permission.
    package static func cannotRun(_ name: String) -> PinentryError {
        PinentryError("\(name) can't be run; use an executable file with --pinentry")
    }

    /// The program sent no greeting.
    package static func didNotStart(_ name: String) -> PinentryError {
        PinentryError("\(name) did not start; choose another with --pinentry")
    }

    /// The program's output is not Assuan or exceeds a limit.
    package static let protocolViolation = PinentryError(
        "the pinentry program does not speak Assuan; choose another with --pinentry"
    )

    /// The program could not show the prompt, usually because there is no terminal or display.
    ///
    /// - Parameter code: The gpg-error code from the program.
    package static func promptFailed(code: Int) -> PinentryError {
        PinentryError(
            "pinentry could not show the prompt (gpg-error \(code)), probably because there is no terminal or display; "
                + "set GPG_TTY or DISPLAY"
        )
    }

    /// A text is longer than a line of the protocol (1,000 bytes).
    package static let textTooLong = PinentryError("the question is too long for pinentry; nothing was asked")

    /// The user canceled the prompt.
    package static let cancelled = PinentryError("the question was cancelled", status: .notPermitted)

    /// The user did not answer in time.
    package static let timedOut = PinentryError(
        "the question was not answered in time; try again",
        status: .temporary
    )

    /// Each new PIN was rejected, up to the maximum number of attempts.
    package static let tooManyTries = PinentryError(
        "no PIN was chosen after several tries; try again",
        status: .notPermitted
    )

    /// The program exited while the prompt was open.
    package static let exited = PinentryError(
        "pinentry exited during a prompt; try again or choose another with --pinentry"
    )

    /// The calling task was canceled, or SIGINT, SIGHUP or SIGTERM ended the program.
    ///
    /// Ctrl-C may reach the program before it reaches this process.
    package static let interrupted = PinentryError("the question was interrupted", status: .interrupted)
}
