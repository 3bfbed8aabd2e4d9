// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads
internal import HybridVault

/// The single questions of the vault commands, each asked by a program or through pinentry.
struct VaultQuestions: Sendable {
    /// The time for the user to answer each question.
    static let limit = Duration.seconds(120)
    /// The time to compare or to write down.
    static let longLimit = Duration.seconds(600)
    /// Maximum number of attempts to type a new passphrase.
    private static let maximumAttempts = 5

    let questioner: Questioner

    static let declined = CommandFailure("cancelled; nothing was changed", code: "declined", status: .notPermitted)
    static let nothingTyped = CommandFailure(
        "nothing was typed; nothing was changed",
        code: "declined",
        status: .notPermitted
    )

    /// The purpose and the file for which a secret is asked.
    struct Subject: Sendable {
        let purpose: VaultPurpose
        /// The text that replaces the sentence of the purpose, if any.
        let text: String?
        /// Path of the file or directory that the secret opens.
        let path: String

        /// The text of a prompt.
        var description: String { "\(text ?? purpose.sentence)\n\n\(SafeText(quoting: path))" }

        func members(_ problem: PromptProblem?) -> [AskMembers.Member] {
            var members: [AskMembers.Member] = [("purpose", .string(purpose.rawValue)), ("path", .string(path))]
            if let text { members.append(("text", .string(text))) }
            if let problem { members.append(problem.member) }
            return members
        }
    }

    /// Asks for the PIN.
    func pin(_ subject: Subject, _ problem: PromptProblem?) async throws -> PinentrySecret {
        try await mappingFailures { program in
            try await program.typed(for: AskQuestion(.pin, within: Self.limit, subject.members(problem)))
        } orWith: { pinentry in
            let description = subject.description
            return try await pinentry.getPIN(description: description, prompt: "PIN:", error: problem?.complaint)
        }
    }

    /// Asks for the PIN, which a finger may replace.
    func pin(_ subject: Subject, or finger: FingerprintPrompt) async -> FingerprintPrompt.Answer<any Error> {
        let cause = Locked(AskWithdrawal.cancelled)
        return await finger.race { () async throws(any Error) in
            try await mappingFailures { program in
                let members = subject.members(nil) + [("finger", .boolean(true))]
                let question = AskQuestion(.pin, within: Self.limit, members)
                return try await program.typed(for: question) { cause.withLock { $0 } }
            } orWith: { pinentry in
                let description = "\(subject.description)\n\n\(FingerprintPrompt.invitation)"
                return try await pinentry.getPIN(description: description, prompt: "PIN:")
            }
        } willCancel: { isMatch in
            cause.withLock { $0 = isMatch ? .touched : .fingerFailed }
        }
    }

    /// Asks for the passphrase or the recovery code.
    func secret(_ subject: Subject, _ problem: PromptProblem?) async throws -> PinentrySecret {
        try await mappingFailures { program in
            try await program.typed(for: AskQuestion(.secret, within: Self.limit, subject.members(problem)))
        } orWith: { pinentry in
            let description = "\(subject.description)\n\nType its passphrase or its recovery code."
            return try await pinentry.getPIN(description: description, prompt: "Secret:", error: problem?.complaint)
        }
    }

    /// Asks twice for a new PIN.
    func newPIN(for path: String) async throws -> PIN {
        let pin = try await mappingFailures { program in
            guard let pin = try await AskUser.newPIN(program, "set", path, within: Self.limit) else {
                throw PinentryError.tooManyTries
            }
            return pin
        } orWith: { pinentry -> PIN? in
            let secret = try await pinentry.getNewPIN(
                description: "A new PIN for this vault on this device\n\n\(SafeText(quoting: path))\n\nAt least "
                    + "\(PIN.minimumLength) characters. It opens the vault on this device only.",
                complaint: PIN.complaint
            )
            return PIN(secret)
        }
        guard let pin else { throw Self.nothingTyped }
        return pin
    }

    /// Asks twice for a new passphrase, and asks again if it is too weak.
    func newPassphrase(for path: String) async throws -> Passphrase {
        let secret = try await mappingFailures(choosing: "passphrase") { program in
            try await newPassphrase(program, path)
        } orWith: { pinentry in
            try await pinentry.getNewPIN(
                description: "A new passphrase for this vault\n\n\(SafeText(quoting: path))\n\nIt opens every copy of "
                    + "the vault, on any device. Five random words are enough; a sentence from a book is not.",
                texts: .passphrase
            ) { secret in
                guard let passphrase = secret.withUnsafeBytes({ Passphrase(utf8: $0) }) else {
                    return "Type 1 to \(Passphrase.maximumBytes) bytes"
                }
                return Self.problem(of: passphrase)?.complaint
            }
        }
        guard let passphrase = secret.withUnsafeBytes({ Passphrase(utf8: $0) }) else { throw Self.nothingTyped }
        return passphrase
    }

    private func newPassphrase(_ program: AskProgram, _ path: String) async throws -> PinentrySecret {
        var problem: PromptProblem?
        for _ in 0..<Self.maximumAttempts {
            var members: [AskMembers.Member] = [
                ("path", .string(path)), ("minimumBits", .number(Passphrase.minimumBits)),
            ]
            if let problem { members.append(problem.member) }
            let secret = try await program.typed(for: AskQuestion(.newSecret, within: Self.limit, members))
            let passphrase = secret.withUnsafeBytes { Passphrase(utf8: $0) }
            problem = passphrase.map { Self.problem(of: $0) } ?? .noSecret
            if problem == nil { return secret }
        }
        throw PinentryError.tooManyTries
    }

    private static func problem(of passphrase: Passphrase) -> PromptProblem? {
        passphrase.isStrongEnough ? nil : .weak(bits: passphrase.strength, minimum: Passphrase.minimumBits)
    }

    /// Shows a recovery code; throws an error unless the user confirms that it is written down.
    func show(_ code: RecoveryCode, for path: String) async throws {
        let groups: [JSONText] = code.text.split(separator: "-").map { .string(String($0)) }
        let members: [AskMembers.Member] = [("groups", .array(groups)), ("path", .string(path))]
        try await agree(
            to: AskQuestion(.recoveryCode, within: Self.longLimit, members),
            text: "The recovery code of this vault\n\n\(SafeText(quoting: path))\n\n\(code.text)\n\nWrite it on paper "
                + "and keep it away from this device. It is shown only once.",
            ok: "Written down"
        )
    }

    /// Asks a question in words; throws an error unless the user agrees.
    func confirm(_ text: String, ok: String, within limit: Duration) async throws {
        let members: [AskMembers.Member] = [("text", .string(text)), ("agree", .string(ok))]
        try await agree(to: AskQuestion(.question, within: limit, members), text: text, ok: ok)
    }

    /// Asks a question; throws an error unless the user agrees.
    ///
    /// - Parameters:
    ///   - question: The question for a program.
    ///   - text: The question for pinentry.
    ///   - ok: The label of pinentry's button that agrees.
    func agree(to question: AskQuestion, text: String, ok: String) async throws {
        let isAgreed = try await mappingFailures { program in
            try await program.agree(to: question)
            return true
        } orWith: { pinentry in
            var pinentry = pinentry
            pinentry.timeout = question.timeout
            return try await pinentry.confirm(description: text, ok: ok, cancel: "Cancel") == .yes
        }
        guard isAgreed else { throw Self.declined }
    }

    private func mappingFailures<Answer: Sendable>(
        choosing what: String = "PIN",
        _ ask: (AskProgram) async throws -> Answer,
        orWith askPinentry: (Pinentry) async throws -> Answer
    ) async throws -> Answer {
        do {
            if let program = await questioner.program { return try await ask(program) }
            return try await askPinentry(try questioner.pinentry())
        } catch let refusal as AskRefusal {
            switch refusal {
            case .declined: throw Self.declined
            case .timedOut: throw PinentryError.timedOut
            case .interrupted: throw CancellationError()
            case .tooLong: throw CommandFailure(AskRefusal.tooLongSentence, status: .unavailable)
            }
        } catch let error as PinentryError {
            switch error {
            case .cancelled: throw Self.declined
            case .tooManyTries:
                throw CommandFailure("no \(what) was chosen after several tries; try again", status: .notPermitted)
            case .interrupted: throw await PromptInterruption.propagate()
            default: throw error
            }
        }
    }
}
