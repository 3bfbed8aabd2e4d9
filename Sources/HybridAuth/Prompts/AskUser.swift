// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The user of this device, whom a program asks in a window of its own.
struct AskUser: UserInteraction {
    let program: AskProgram
    let context: SignInContext

    private static let limit = Pinentry.signInLimit
    /// Maximum number of attempts to type a PIN that can be used.
    private static let attempts = 3

    /// Asks for the PIN of a new vault.
    func askNewPIN(forVaultAt path: String) async throws -> PIN {
        do throws(AskRefusal) {
            if let pin = try await Self.newPIN(program, "create-vault", path, within: Self.limit) { return pin }
        } catch {
            switch error {
            case .declined: break
            case .timedOut:
                throw CommandFailure("no PIN was chosen in time; no vault was created", status: .temporary)
            case .interrupted: throw CancellationError()
            case .tooLong: throw CommandFailure(AskRefusal.tooLongSentence, status: .unavailable)
            }
        }
        throw AlreadyShownFailure(declined: "no PIN was chosen; no vault was created")
    }

    /// Asks for a new PIN until it can be used; returns `nil` after several that can't.
    static func newPIN(
        _ program: AskProgram,
        _ purpose: String,
        _ path: String,
        within limit: Duration
    ) async throws(AskRefusal) -> PIN? {
        var members: [AskMembers.Member] = [
            ("minimum", .number(PIN.minimumLength)), ("purpose", .string(purpose)), ("path", .string(path)),
        ]
        for attempt in 0..<attempts {
            let secret = try await program.typed(for: AskQuestion(.newPIN, within: limit, members))
            if let pin = PIN(secret), pin.isLongEnough { return pin }
            if attempt == 0 { members.append(PromptProblem.tooShort.member) }
        }
        return nil
    }

    func verify(
        for operation: RequestedOperation,
        problem: PINProblem?
    ) async throws(UserRefusal) -> UserVerification {
        guard problem == nil, let fingerprint = context.fingerprint, await fingerprint.isReady else {
            return .pin(try await askPIN(for: operation, problem: problem))
        }
        let question = pinQuestion(operation, [("finger", .boolean(true))])
        let cause = Locked(AskWithdrawal.cancelled)
        let answer = await fingerprint.race { () async throws(AskRefusal) in
            try await program.typed(for: question) { cause.withLock { $0 } }
        } willCancel: { isMatch in
            cause.withLock { $0 = isMatch ? .touched : .fingerFailed }
        }
        switch answer {
        case .finger(let key): return .key(key)
        case .typed(let result):
            let secret = try await ask { () async throws(AskRefusal) in try result.get() }
            if let pin = PIN(secret) { return .pin(pin) }
            return .pin(try await askPIN(for: operation, .empty))
        case .failed(let reason): return .pin(try await askPIN(for: operation, .finger(reason)))
        }
    }

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        try await askPIN(for: operation, problem.map(PromptProblem.init))
    }

    private func askPIN(for operation: RequestedOperation, _ problem: PromptProblem?) async throws(UserRefusal) -> PIN {
        var problem = problem
        for _ in 0..<Authenticator.pinAttempts {
            let question = pinQuestion(operation, problem.map { [$0.member] } ?? [])
            let secret = try await ask { () async throws(AskRefusal) in try await program.typed(for: question) }
            if let pin = PIN(secret) { return pin }
            problem = .empty
        }
        throw .declined
    }

    private func pinQuestion(_ operation: RequestedOperation, _ members: [AskMembers.Member]) -> AskQuestion {
        AskQuestion(.pin, within: Self.limit, AskMembers.request(operation, context) + members)
    }

    func confirmCreation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        let isKey = operation.relyingParty.isEncryptionKey
        // No window has room for more.
        let shown = replaced.prefix(AskQuestion.maximumAccounts)
        let question = AskMembers.fitting { length in
            let replaces = shown.map { AskMembers.account($0, isEncryptionKey: isKey, names: length) }
            let members: [AskMembers.Member] = [
                ("account", AskMembers.account(account, isEncryptionKey: isKey, names: length)),
                ("replaces", .array(replaces)),
            ]
            return AskQuestion(.create, within: Self.limit, AskMembers.request(operation, context) + members)
        }
        try await ask { () async throws(AskRefusal) in try await program.agree(to: question) }
    }

    func chooseAccount(
        _ accounts: [UserEntity],
        for operation: RequestedOperation
    ) async throws(UserRefusal) -> Int {
        let isKey = operation.relyingParty.isEncryptionKey
        let shown = accounts.prefix(AskQuestion.maximumAccounts)
        let used = accounts.count > 1 ? await context.lastUses(at: operation.relyingParty) : [:]
        let question = AskMembers.fitting { length in
            let list = shown.map {
                AskMembers.account($0, lastUsed: used[$0.id], isEncryptionKey: isKey, names: length)
            }
            let members: [AskMembers.Member] = [("accounts", .array(list))]
            let request = AskMembers.request(operation, context)
            return AskQuestion(.account, within: Self.limit, request + members + AskMembers.data(operation))
        }
        let answer = try await ask { () async throws(AskRefusal) in try await program.ask(question) }
        guard case .account(let index) = answer, accounts.indices.contains(index) else { throw .declined }
        return index
    }

    func show(_ notice: Notice, for operation: RequestedOperation) async throws(UserRefusal) {
        let name =
            switch notice {
            case .noPasskey: "no-passkey"
            case .dataNotStated: "data-not-stated"
            case .alreadyRegistered: "already-registered"
            }
        let member: AskMembers.Member = ("notice", .string(name))
        let question = AskQuestion(.notice, within: Self.limit, AskMembers.request(operation, context) + [member])
        do throws(AskRefusal) {
            try await program.agree(to: question)
        } catch {
            // A user who declines a notice has seen it.
            guard error == .declined else { throw UserRefusal(error) }
        }
    }

    private func ask<Answer>(
        _ question: () async throws(AskRefusal) -> Answer
    ) async throws(UserRefusal) -> Answer {
        do throws(AskRefusal) {
            return try await question()
        } catch {
            throw UserRefusal(error)
        }
    }
}

extension AskRefusal {
    /// The sentence about a question that does not fit a line.
    static let tooLongSentence = "the question is too long for the program that asks; nothing was asked"
}

extension UserRefusal {
    fileprivate init(_ refusal: AskRefusal) {
        self =
            switch refusal {
            // After a cancellation, the caller is canceled, too, and reports that instead.
            case .declined, .interrupted: .declined
            case .timedOut: .timedOut
            case .tooLong: .unavailable(AskRefusal.tooLongSentence)
            }
    }
}
