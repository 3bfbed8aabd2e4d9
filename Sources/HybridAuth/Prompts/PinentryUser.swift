// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram

/// The user of this device, who is prompted through pinentry.
///
/// Each prompt begins with the RP ID on a line of its own, because the user consents for this site. A local service has
/// a heading instead (``SignInPromptText``). Names from the request follow, quoted and sanitized, also on lines of
/// their own. With a virtual radio, each prompt contains a warning.
struct PinentryUser: UserInteraction {
    let pinentry: Pinentry
    let context: SignInContext

    private var warning: String {
        (context.offeredLink.map { "\n\nLink code: \($0)" } ?? "")
            + (context.virtualRadio ? "\n\nVIRTUAL RADIO: no proximity proof" : "")
            + (CodeAge.warning(context.age).map { "\n\n\($0)" } ?? "")
    }

    /// Asks for the PIN of a new vault.
    func askNewPIN(forVaultAt path: String) async throws -> PIN {
        let description =
            "A new vault for passkeys\n\n\(SafeText(quoting: path))\n\nChoose a PIN of at least \(PIN.minimumLength) "
            + "characters. It opens the vault on this device only and cannot be recovered.\(warning)"
        do throws(PinentryError) {
            let secret = try await pinentry.getNewPIN(description: description, complaint: PIN.complaint)
            if let pin = PIN(secret) { return pin }
        } catch {
            switch error {
            case .cancelled, .tooManyTries:
                throw AlreadyShownFailure(declined: "no PIN was chosen; no vault was created")
            case .timedOut:
                throw CommandFailure("no PIN was chosen in time; no vault was created", status: .temporary)
            case .interrupted: throw await PromptInterruption.propagate()
            default: throw error
            }
        }
        throw CommandFailure("no PIN was chosen", status: .notPermitted)
    }

    func verify(
        for operation: RequestedOperation,
        problem: PINProblem?
    ) async throws(UserRefusal) -> UserVerification {
        guard problem == nil, let fingerprint = context.fingerprint, await fingerprint.isReady else {
            return .pin(try await askPIN(for: operation, problem: problem))
        }
        let description = description("\(question(operation))\n\n\(FingerprintPrompt.invitation)", for: operation)
        let answer = await fingerprint.race { () async throws(PinentryError) in
            try await pinentry.getPIN(description: description, prompt: "PIN:")
        }
        switch answer {
        case .finger(let key): return .key(key)
        case .typed(let result):
            let secret = try await ask { () async throws(PinentryError) in try result.get() }
            if let pin = PIN(secret) { return .pin(pin) }
            return .pin(try await askPIN(for: operation, .empty))
        case .failed(let complaint): return .pin(try await askPIN(for: operation, .finger(complaint)))
        }
    }

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        try await askPIN(for: operation, problem.map(PromptProblem.init))
    }

    private func question(_ operation: RequestedOperation) -> String {
        let made = context.age.map { ", with a code shown \(CodeAge.text($0)) ago" } ?? ""
        let asked = context.computer.map { "Asked by the linked computer\n\(SafeText(quoting: $0))\n" } ?? "Asked "
        return "\(SignInPromptText.question(operation))\n\(asked)\(context.transport.phrase)\(made)."
    }

    private func askPIN(for operation: RequestedOperation, _ problem: PromptProblem?) async throws(UserRefusal) -> PIN {
        let description = description(question(operation), for: operation)
        var problem = problem
        for _ in 0..<Authenticator.pinAttempts {
            let secret = try await ask { () async throws(PinentryError) in
                try await pinentry.getPIN(description: description, prompt: "PIN:", error: problem?.complaint)
            }
            if let pin = PIN(secret) { return pin }
            problem = .empty
        }
        throw .declined
    }

    func confirmCreation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        let (text, ok) = ConsentText.creation(of: account, for: operation, replacing: replaced)
        let answer = try await confirm(text, for: operation, ok: ok)
        guard answer == .yes else { throw .declined }
    }

    func chooseAccount(
        _ accounts: [UserEntity],
        for operation: RequestedOperation
    ) async throws(UserRefusal) -> Int {
        if accounts.count > 1, try await !ask(pinentry.showsThirdButton) {
            return try await chooseOneByOne(accounts, for: operation)
        }
        var index = 0
        while true {
            let text = ConsentText.use(of: accounts[index], index + 1, of: accounts.count, for: operation)
            switch try await confirm(text, for: operation, ok: "Use", notOK: accounts.count > 1 ? "Next" : nil) {
            case .yes: return index
            case .no where accounts.count > 1: index = (index + 1) % accounts.count
            case .no, .cancelled: throw .declined
            }
        }
    }

    /// Asks for one account after the other, where prompts have two buttons only: the second one leads to the next
    /// account, and declines the last one.
    private func chooseOneByOne(
        _ accounts: [UserEntity],
        for operation: RequestedOperation
    ) async throws(UserRefusal) -> Int {
        for (index, account) in accounts.enumerated() {
            let isLast = index == accounts.count - 1
            let text = ConsentText.use(of: account, index + 1, of: accounts.count, for: operation)
            let rest = isLast ? "This is the last account." : "\"Other\u{2026}\" shows the next account."
            let answer = try await ask { () async throws(PinentryError) in
                try await pinentry.confirm(
                    description: description("\(text)\n\n\(rest)", for: operation),
                    ok: "Use",
                    cancel: isLast ? "Decline" : "Other\u{2026}"
                )
            }
            if answer == .yes { return index }
        }
        throw .declined
    }

    func show(_ notice: Notice, for operation: RequestedOperation) async throws(UserRefusal) {
        let description = description(SignInPromptText.notice(notice, operation), for: operation)
        try await ask { () async throws(PinentryError) in try await pinentry.message(description: description) }
    }

    /// Returns the whole text of a prompt.
    private func description(_ text: String, for operation: RequestedOperation) -> String {
        "\(SignInPromptText.heading(operation.relyingParty))\n\n\(text)\(warning)"
    }

    private func confirm(
        _ text: String,
        for operation: RequestedOperation,
        ok: String,
        notOK: String? = nil
    ) async throws(UserRefusal) -> ConfirmAnswer {
        try await ask { () async throws(PinentryError) in
            try await pinentry.confirm(
                description: description(text, for: operation),
                ok: ok,
                notOK: notOK,
                cancel: "Decline"
            )
        }
    }

    /// Shows a prompt; throws a refusal if the user does not answer it.
    private func ask<Answer>(
        _ prompt: () async throws(PinentryError) -> Answer
    ) async throws(UserRefusal) -> Answer {
        do throws(PinentryError) {
            return try await prompt()
        } catch {
            switch error {
            case .cancelled: throw .declined
            case .timedOut: throw .timedOut
            case .interrupted:
                // The caller is canceled, too, and reports the cancellation instead of this refusal.
                _ = await PromptInterruption.propagate()
                throw .declined
            default: throw .unavailable(error.sentence)
            }
        }
    }
}
