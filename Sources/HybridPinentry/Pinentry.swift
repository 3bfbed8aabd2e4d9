// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// Asks a person through a pinentry program, as gpg does.
///
/// The **caller** has a question. The **program** (pinentry-curses, -gtk, -qt, -gnome3 or a script) owns the
/// terminal or window and is believed about what the person did. The **person** reads texts of which a part may
/// come from a stranger; that part is ``SafeText``.
///
/// 1. Each question starts the program anew, without a shell, and waits for its greeting.
/// 2. It is told the terminal, the time limit and the texts (Assuan, one escaped line each).
/// 3. `GETPIN`, `CONFIRM` or `MESSAGE` waits for the person. The program's answer is bounded in length, number
///    of lines and time.
/// 4. `BYE`, and the program is waited for, so that the terminal is free again when the call returns.
///
/// When the calling task is cancelled the program is ended (SIGTERM, then SIGKILL) and reaped, the terminal's
/// settings are restored, and the call throws ``PinentryError/takenDown``. The external password cache is never
/// allowed and no key information is sent, so nothing that is typed is kept by the desktop.
public struct Pinentry: Sendable {
    /// What the program was asked to wait for, and how long it may take to say anything else.
    struct Limits: Sendable {
        /// For the start, up to the greeting.
        var greeting: Duration = .seconds(10)
        /// For the answer to each setting.
        var reply: Duration = .seconds(10)
        /// What the program gets on top of the time limit it was told, to take its window down.
        var grace: Duration = .seconds(5)
    }

    /// Path of the program.
    public let program: String
    private let terminal: @Sendable () -> Terminal
    private let limits: Limits

    /// Finds the program.
    ///
    /// - Parameter program: A path, a name to look for in `PATH`, or `nil` for the first of `pinentry`,
    ///   `pinentry-curses` and `pinentry-tty`.
    /// - Throws: ``PinentryError/notFound(_:)``.
    public init(program: String? = nil) throws(PinentryError) {
        try self.init(program: program, environment: Self.environment, limits: Limits())
    }

    init(program: String?, environment: [String: String], limits: Limits) throws(PinentryError) {
        self.program = try PinentryProgram.find(program, environment: environment)
        self.terminal = { Terminal(environment: environment) }
        self.limits = limits
    }

    /// Asks for a PIN that exists.
    ///
    /// - Parameters:
    ///   - title: Title of the window.
    ///   - description: What the PIN is for; line feeds are kept.
    ///   - prompt: What stands before the field.
    ///   - error: What was wrong with the try before, if there was one.
    ///   - timeout: How long the person has.
    /// - Returns: What was typed, perhaps nothing.
    /// - Throws: ``PinentryError``.
    public func getPIN(
        title: String,
        description: String,
        prompt: String,
        error: String? = nil,
        timeout: Duration
    ) async throws(PinentryError) -> PinentrySecret {
        try await converse(title, description, timeout) { conversation, description throws(PinentryError) in
            try conversation.mustSet("SETDESC", description)
            try conversation.set("SETPROMPT", prompt)
            try conversation.set("SETERROR", error)
            return try question(conversation, timeout).secret
        }
    }

    /// Asks for a new PIN, twice, until both are the same and the caller agrees, at most five times.
    ///
    /// A program that repeats the question itself says so; with any other it is asked again here and compared.
    ///
    /// - Parameters:
    ///   - title: Title of the window.
    ///   - description: What the PIN is for.
    ///   - texts: Prompts and complaints.
    ///   - timeout: How long the person has for each answer.
    ///   - complaint: Looks at what was typed and says what is wrong with it, or `nil`.
    /// - Throws: ``PinentryError``; ``PinentryError/tooManyTries`` after the fifth.
    public func getNewPIN(
        title: String,
        description: String,
        texts: NewPINTexts = NewPINTexts(),
        timeout: Duration,
        complaint: @escaping @Sendable (PinentrySecret) -> String?
    ) async throws(PinentryError) -> PinentrySecret {
        try await converse(title, description, timeout) { conversation, description throws(PinentryError) in
            var error: String?
            for _ in 0..<5 {
                try conversation.mustSet("SETDESC", description)
                try conversation.set("SETPROMPT", texts.prompt)
                try conversation.set("SETREPEAT", texts.repeatPrompt)
                try conversation.set("SETREPEATERROR", texts.mismatch)
                try conversation.set("SETERROR", error)
                let first = try question(conversation, timeout)
                error = complaint(first.secret)
                guard error == nil else { continue }
                if first.wasRepeated { return first.secret }
                try conversation.set("SETPROMPT", texts.repeatPrompt)
                let second = try question(conversation, timeout)
                if first.secret.matches(second.secret) { return first.secret }
                error = texts.mismatch
            }
            throw .tooManyTries
        }
    }

    /// Asks a question with two or three buttons.
    ///
    /// - Parameters:
    ///   - title: Title of the window.
    ///   - description: The question; line feeds are kept.
    ///   - ok: The button that says ``ConfirmAnswer/yes``.
    ///   - notOK: The button that says ``ConfirmAnswer/no``; without it there are two buttons.
    ///   - cancel: The button that says ``ConfirmAnswer/cancelled``.
    ///   - timeout: How long the person has.
    /// - Throws: ``PinentryError``.
    public func confirm(
        title: String,
        description: String,
        ok: String,
        notOK: String? = nil,
        cancel: String,
        timeout: Duration
    ) async throws(PinentryError) -> ConfirmAnswer {
        try await converse(title, description, timeout) { conversation, description throws(PinentryError) in
            try conversation.mustSet("SETDESC", description)
            try conversation.set("SETOK", ok)
            try conversation.set("SETNOTOK", notOK)
            try conversation.set("SETCANCEL", cancel)
            let answer = try conversation.ask("CONFIRM", within: timeout + limits.grace)
            switch answer.code {
            case 0: return .yes
            case AssuanLine.Code.notConfirmed: return .no
            case AssuanLine.Code.cancelled, AssuanLine.Code.fullyCancelled: return .cancelled
            case AssuanLine.Code.timedOut: throw .timedOut
            case let code: throw .couldNotAsk(code: code)
            }
        }
    }

    /// Tells something and waits until it was read, with one button.
    ///
    /// - Throws: ``PinentryError``; closing the window is no error.
    public func message(
        title: String,
        description: String,
        ok: String = "OK",
        timeout: Duration
    ) async throws(PinentryError) {
        try await converse(title, description, timeout) { conversation, description throws(PinentryError) in
            try conversation.mustSet("SETDESC", description)
            try conversation.set("SETOK", ok)
            // CONFIRM with one button is older and more widely known than MESSAGE.
            let answer = try conversation.ask("CONFIRM --one-button", within: timeout + limits.grace)
            switch answer.code {
            case 0, AssuanLine.Code.notConfirmed, AssuanLine.Code.cancelled, AssuanLine.Code.fullyCancelled: return
            case AssuanLine.Code.timedOut: throw .timedOut
            case let code: throw .couldNotAsk(code: code)
            }
        }
    }

    private func question(
        _ conversation: Conversation,
        _ timeout: Duration
    ) throws(PinentryError) -> Conversation.Answer {
        let answer = try conversation.ask("GETPIN", within: timeout + limits.grace)
        switch answer.code {
        case 0: return answer
        case AssuanLine.Code.cancelled, AssuanLine.Code.fullyCancelled, AssuanLine.Code.notConfirmed: throw .cancelled
        case AssuanLine.Code.timedOut: throw .timedOut
        case let code: throw .couldNotAsk(code: code)
        }
    }

    /// Runs one conversation on a thread of its own and takes it down when the task is cancelled.
    ///
    /// A terminal may lack letters of the description, and then some programs show nothing at all. Names are a
    /// stranger's choice and must not keep anybody from answering, so those letters become question marks then.
    private func converse<Value: Sendable>(
        _ title: String,
        _ description: String,
        _ timeout: Duration,
        _ body: @escaping @Sendable (Conversation, String) throws(PinentryError) -> Value
    ) async throws(PinentryError) -> Value {
        guard let waker = Waker() else { throw .didNotStart(program) }
        let result = await withTaskCancellationHandler {
            await DedicatedThread.run { () -> Result<Value, PinentryError> in
                Result { () throws(PinentryError) in
                    do throws(PinentryError) {
                        return try talk(title, timeout, waker) { conversation throws(PinentryError) in
                            try body(conversation, description)
                        }
                    } catch .couldNotAsk(code: AssuanLine.Code.localeProblem) where !description.allSatisfy(\.isASCII) {
                        let plain = description.unicodeScalars.map { $0.isASCII ? Character($0) : "?" }
                        return try talk(title, timeout, waker) { conversation throws(PinentryError) in
                            try body(conversation, String(plain))
                        }
                    }
                }
            }
        } onCancel: {
            waker.wake()
        }
        return try result.get()
    }

    private func talk<Value>(
        _ title: String,
        _ timeout: Duration,
        _ waker: Waker,
        _ body: (Conversation) throws(PinentryError) -> Value
    ) throws(PinentryError) -> Value {
        let terminal = terminal()
        let settings = TerminalSettings(name: terminal.name)
        let conversation = try Conversation(program: program, waker: waker, limits: limits)
        do {
            // `allow-external-password-cache` is a switch: never sending it is how it is never allowed.
            try conversation.set("OPTION", terminal.name.map { "ttyname=\($0)" })
            try conversation.set("OPTION", terminal.type.map { "ttytype=\($0)" })
            try conversation.set("OPTION", terminal.characters.map { "lc-ctype=\($0)" })
            try conversation.set("SETTIMEOUT", String(max(1, timeout.components.seconds)))
            try conversation.set("SETTITLE", title)
            let value = try body(conversation)
            conversation.end()
            return value
        } catch {
            switch error {
            case .takenDown, .timedOut, .spokeNonsense, .gone:
                conversation.abort()
                settings?.restore()
            default: conversation.end()
            }
            throw error
        }
    }

    private static var environment: [String: String] {
        var values: [String: String] = [:]
        for name in ["PATH", "GPG_TTY", "TERM", "LC_ALL", "LC_CTYPE", "LANG"] {
            if let value = getenv(name) { values[name] = String(cString: value) }
        }
        return values
    }
}
