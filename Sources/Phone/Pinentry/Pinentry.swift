// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// Prompts for the user, shown by a pinentry program as in GnuPG.
///
/// The *program* (pinentry-curses, -gtk, -qt, -gnome3 or a script) controls the terminal or window and is trusted to
/// report the user's input. Untrusted parts of the texts must be `SafeText`.
///
/// 1. Each prompt starts the program, without a shell, and waits for its greeting.
/// 2. Commands set the terminal, the time limit and the texts (Assuan, one escaped line each).
/// 3. `GETPIN` or `CONFIRM` waits for the user. The response is limited in length, number of lines and time.
/// 4. `BYE` ends the program. The call returns after its exit, so that the terminal is free again.
///
/// If the calling task is canceled, the program is ended (SIGTERM, then SIGKILL) and reaped. The terminal's settings
/// are restored, and the call throws ``PinentryError/interrupted``. The external password cache is never allowed and no
/// key information is sent, so the desktop does not store the input.
package struct Pinentry: Sendable {
    /// Time limits of the program.
    struct Limits: Sendable {
        /// Time from the start to the greeting.
        var greeting: Duration = .seconds(10)
        /// Time for the response to each setting.
        var reply: Duration = .seconds(10)
        /// Time after the prompt's own limit for the program to close its window.
        var grace: Duration = .seconds(5)
        /// Time after which the answer to a prompt that has replaced another one counts.
        var replacement: Duration = .milliseconds(500)
    }

    /// Path of the program.
    package let program: String
    /// Time for the user to answer each prompt.
    package var timeout: Duration
    private let title: String
    private let environment: [String: String]
    private let limits: Limits
    /// True if the last prompt was closed while the user may have been typing.
    private let wasInterrupted = Locked(false)

    /// Creates prompts that are shown by the given program.
    ///
    /// - Parameters:
    ///   - program: A path, a name to look up in `PATH`, or `nil` for the first of `pinentry`, `pinentry-curses` and
    ///     `pinentry-tty`.
    ///   - title: Title of the windows.
    ///   - timeout: Time for the user to answer each prompt.
    /// - Throws: ``PinentryError/notFound(_:)``.
    package init(program: String? = nil, title: String = "", timeout: Duration = .seconds(60)) throws(PinentryError) {
        try self.init(program, title, timeout, environment: Self.environment, limits: Limits())
    }

    init(
        _ program: String?,
        _ title: String = "",
        _ timeout: Duration = .seconds(60),
        environment: [String: String],
        limits: Limits
    ) throws(PinentryError) {
        self.program = try PinentryProgram.find(program, environment: environment)
        self.title = title
        self.timeout = timeout
        self.environment = environment
        self.limits = limits
    }

    /// Asks for an existing PIN.
    ///
    /// - Parameters:
    ///   - description: Purpose of the PIN; line feeds are kept.
    ///   - prompt: Label of the field.
    ///   - error: Complaint about the previous attempt.
    /// - Returns: The input, which may be empty.
    /// - Throws: ``PinentryError``.
    package func getPIN(
        description: String,
        prompt: String,
        error: String? = nil
    ) async throws(PinentryError) -> PinentrySecret {
        try await run(description) { conversation, description throws(PinentryError) in
            try conversation.setRequired("SETDESC", description)
            try conversation.set("SETPROMPT", prompt)
            try conversation.set("SETERROR", error)
            return try requestPIN(conversation).secret
        }
    }

    /// Asks for a new PIN twice, until both inputs are equal and `complaint` returns `nil`, at most five times.
    ///
    /// Some programs ask for the repetition themselves; with others, a second prompt asks for it. pinentry-gnome3 says
    /// that it has asked, but that depends on the desktop's prompter: Phosh's has one field only.
    ///
    /// - Parameters:
    ///   - description: Purpose of the PIN.
    ///   - texts: Labels and the complaint about unequal inputs.
    ///   - complaint: Returns the complaint about an input, or `nil` to accept it.
    /// - Throws: ``PinentryError``; ``PinentryError/tooManyTries`` after five attempts.
    package func getNewPIN(
        description: String,
        texts: NewPINTexts = .pin,
        complaint: @escaping @Sendable (PinentrySecret) -> String?
    ) async throws(PinentryError) -> PinentrySecret {
        try await run(description) { conversation, description throws(PinentryError) in
            var error: String?
            for _ in 0..<5 {
                try conversation.setRequired("SETDESC", description)
                try conversation.set("SETPROMPT", texts.prompt)
                try conversation.set("SETREPEAT", texts.repeatPrompt)
                try conversation.set("SETREPEATERROR", texts.mismatch)
                try conversation.set("SETERROR", error)
                let first = try requestPIN(conversation)
                error = complaint(first.secret)
                guard error == nil else { continue }
                let isGNOME = first.wasRepeated ? try flavor(conversation) == Self.gnomeFlavor : false
                if first.wasRepeated, !isGNOME { return first.secret }
                // GNOME's prompter shows its own label in place of the prompt.
                if isGNOME { try conversation.setRequired("SETDESC", "\(texts.repetition)\n\n\(description)") }
                try conversation.set("SETPROMPT", texts.repeatPrompt)
                let second = try requestPIN(conversation)
                if first.secret.matches(second.secret) { return first.secret }
                error = texts.mismatch
            }
            throw .tooManyTries
        }
    }

    /// Asks a question that has two or three buttons.
    ///
    /// - Parameters:
    ///   - description: The question; line feeds are kept.
    ///   - ok: Label of the button for ``ConfirmAnswer/yes``.
    ///   - notOK: Label of the button for ``ConfirmAnswer/no``; without it there are two buttons.
    ///   - cancel: Label of the button for ``ConfirmAnswer/cancelled``.
    /// - Throws: ``PinentryError``.
    package func confirm(
        description: String,
        ok: String,
        notOK: String? = nil,
        cancel: String
    ) async throws(PinentryError) -> ConfirmAnswer {
        try await run(description) { conversation, description throws(PinentryError) in
            try conversation.setRequired("SETDESC", description)
            try conversation.set("SETOK", ok)
            try conversation.set("SETNOTOK", notOK)
            try conversation.set("SETCANCEL", cancel)
            return try conversation.ask("CONFIRM", within: timeout + limits.grace).answer()
        }
    }

    /// Shows a message with one button and waits until the user presses it.
    ///
    /// - Throws: ``PinentryError``; closing the window is not an error.
    package func message(description: String) async throws(PinentryError) {
        try await run(description) { conversation, description throws(PinentryError) in
            try conversation.setRequired("SETDESC", description)
            try conversation.set("SETOK", "OK")
            // CONFIRM with one button is older and more widely known than MESSAGE.
            _ = try conversation.ask("CONFIRM --one-button", within: timeout + limits.grace).answer()
        }
    }

    /// Starts the program and asks for its name and version, without a prompt.
    ///
    /// - Returns: The flavor that the program reports, such as `curses` or `gtk2:curses`, at most 100 characters; empty
    ///   if it reports none.
    /// - Throws: ``PinentryError``.
    package func flavor() async throws(PinentryError) -> String {
        try await run("") { conversation, _ throws(PinentryError) in try flavor(conversation) }
    }

    /// The flavor of pinentry-gnome3, which shows prompts of the desktop; without one it is `gnome3:curses`.
    private static let gnomeFlavor = "gnome3"

    /// Starts the program and asks whether its prompts show the button for ``ConfirmAnswer/no``.
    ///
    /// - Throws: ``PinentryError``.
    package func showsThirdButton() async throws(PinentryError) -> Bool { try await flavor() != Self.gnomeFlavor }

    private func flavor(_ conversation: AssuanConversation) throws(PinentryError) -> String {
        let response = try conversation.send("GETINFO", "flavor", within: limits.reply)
        guard response.code == 0 else { return "" }
        return response.secret.withUnsafeBytes { String(decoding: $0.prefix(100), as: UTF8.self) }
    }

    private func requestPIN(_ conversation: AssuanConversation) throws(PinentryError) -> AssuanConversation.Response {
        let response = try conversation.ask("GETPIN", within: timeout + limits.grace)
        guard try response.answer() == .yes else { throw .cancelled }
        return response
    }

    /// Runs one conversation on a dedicated thread and ends it when the task is canceled.
    ///
    /// If the terminal cannot show a character of the description, some programs show nothing at all. An untrusted name
    /// must not prevent the prompt, so a second attempt replaces characters beyond ASCII with question marks.
    private func run<Value: Sendable>(
        _ description: String,
        _ body: @escaping @Sendable (AssuanConversation, String) throws(PinentryError) -> Value
    ) async throws(PinentryError) -> Value {
        guard let waker = Waker() else { throw .didNotStart(program) }
        let result = await withTaskCancellationHandler {
            await DedicatedThread.run {
                Result { () throws(PinentryError) in
                    do throws(PinentryError) {
                        return try runOnce(description, waker, body)
                    } catch .promptFailed(code: AssuanLine.Code.localeProblem) where !description.allSatisfy(\.isASCII)
                    {
                        let plain = description.unicodeScalars.map { $0.isASCII ? Character($0) : "?" }
                        return try runOnce(String(plain), waker, body)
                    }
                }
            }
        } onCancel: {
            waker.wake()
        }
        return try result.get()
    }

    private func runOnce<Value>(
        _ description: String,
        _ waker: Waker,
        _ body: (AssuanConversation, String) throws(PinentryError) -> Value
    ) throws(PinentryError) -> Value {
        let terminal = PinentryTerminal(environment: environment)
        let settings = TerminalSettings(name: terminal.name)
        let isReplacement = wasInterrupted.withLock { wasInterrupted in
            defer { wasInterrupted = false }
            return wasInterrupted
        }
        if isReplacement { settings?.discardInput() }
        let conversation = try AssuanConversation(
            program: program,
            waker: waker,
            limits: limits,
            isReplacement: isReplacement
        )
        do {
            // `allow-external-password-cache` is never sent, so the cache is never allowed.
            try conversation.set("OPTION", terminal.name.map { "ttyname=\($0)" })
            try conversation.set("OPTION", terminal.type.map { "ttytype=\($0)" })
            try conversation.set("OPTION", terminal.characters.map { "lc-ctype=\($0)" })
            try conversation.set("SETTIMEOUT", String(max(1, timeout.components.seconds)))
            try conversation.set("SETTITLE", title)
            let value = try body(conversation, description)
            conversation.end()
            return value
        } catch {
            if error == .interrupted { wasInterrupted.withLock { $0 = true } }
            switch error {
            case .interrupted, .timedOut, .protocolViolation, .exited:
                conversation.abort()
                settings?.restore()
            default: conversation.end()
            }
            throw error
        }
    }

    private static var environment: [String: String] {
        let values = ["PATH", "GPG_TTY", "TERM", "LC_ALL", "LC_CTYPE", "LANG"].compactMap { (name: String) in
            getenv(name).map { (name, String(cString: $0)) }
        }
        return Dictionary(uniqueKeysWithValues: values)
    }
}

/// An answer to a prompt that has buttons.
package enum ConfirmAnswer: Hashable, Sendable {
    /// The button that consents.
    case yes
    /// The button that is neither consent nor cancel, or the cancel button of a program that reports no difference.
    case no
    /// The cancel button, or a closed window.
    case cancelled
}

/// Texts of the prompts for a new PIN.
package struct NewPINTexts: Sendable {
    /// Label of the first field.
    let prompt: String
    /// Label of the second field.
    let repeatPrompt: String
    /// Complaint if the two inputs differ.
    let mismatch: String
    /// The request for the second input, for prompts without labels of fields.
    let repetition: String

    /// Texts for a PIN.
    package static let pin = NewPINTexts(
        prompt: "New PIN:",
        repeatPrompt: "Repeat the PIN:",
        mismatch: "The two PINs differ; try again",
        repetition: "Type the new PIN again to confirm it."
    )

    /// Texts for a passphrase.
    package static let passphrase = NewPINTexts(
        prompt: "Passphrase:",
        repeatPrompt: "Again:",
        mismatch: "The two differ; type it again",
        repetition: "Type the new passphrase again to confirm it."
    )
}
