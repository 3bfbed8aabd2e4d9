// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The user of this device, who is prompted through pinentry.
///
/// Each prompt begins with the RP ID on a line of its own, because the user consents for this site. A local service has
/// a heading instead (``SignInPromptText``). Names from the request follow, quoted and sanitized, also on lines of
/// their own. With a virtual radio, each prompt contains a warning.
struct SignInPrompts: UserInteraction {
    let pinentry: Pinentry
    /// The transport that the other device uses.
    let transport: ClientTransport
    /// Age of the code in seconds, if it has a timestamp.
    let age: UInt64?
    /// True if the radio is virtual and therefore does not prove proximity.
    let virtualRadio: Bool
    /// The user's name for the linked computer that asks; `nil` if its code was scanned.
    var computer: String?
    /// The fingerprint that may replace the PIN; `nil` if the user did not allow it.
    var fingerprint: FingerprintPrompt?
    /// The code of a link that was offered in this session; `nil` if there is none.
    let linkCode = Locked<LinkCode?>(nil)

    private var warning: String {
        (linkCode.withLock { $0 }.map { "\n\nLink code: \($0)" } ?? "")
            + (virtualRadio ? "\n\nVIRTUAL RADIO: no proximity proof" : "")
            + (CodeAge.warning(age).map { "\n\n\($0)" } ?? "")
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
                throw AlreadyShownFailure("no PIN was chosen; no vault was created", status: .notPermitted)
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
        guard problem == nil, let fingerprint, await fingerprint.isReady else {
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
            return .pin(try await askPIN(for: operation, complaint: Self.typePIN))
        case .failed(let complaint): return .pin(try await askPIN(for: operation, complaint: complaint))
        }
    }

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        let complaint: String? =
            switch problem {
            case .wrong(let attemptsLeft): "Wrong PIN; attempts left before a delay: \(attemptsLeft)"
            case .keyReplaced: "The vault has a new key now; type the PIN"
            case nil: nil
            }
        return try await askPIN(for: operation, complaint: complaint)
    }

    private static let typePIN = "Type the PIN, or cancel"

    private func question(_ operation: RequestedOperation) -> String {
        let made = age.map { ", with a code shown \(CodeAge.text($0)) ago" } ?? ""
        let asked = computer.map { "Asked by the linked computer\n\(SafeText(quoting: $0))\n" } ?? "Asked "
        return "\(SignInPromptText.question(operation))\n\(asked)\(transport.phrase)\(made)."
    }

    private func askPIN(for operation: RequestedOperation, complaint: String?) async throws(UserRefusal) -> PIN {
        let description = description(question(operation), for: operation)
        var complaint = complaint
        for _ in 0..<Authenticator.pinAttempts {
            let secret = try await ask { () async throws(PinentryError) in
                try await pinentry.getPIN(description: description, prompt: "PIN:", error: complaint)
            }
            if let pin = PIN(secret) { return pin }
            complaint = Self.typePIN
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

extension Pinentry {
    /// Creates the prompts of requests, after a scan or a wake-up.
    ///
    /// - Parameter program: The pinentry program, or `nil` for the default.
    static func forSignIn(_ program: String?) throws(PinentryError) -> Pinentry {
        try Pinentry(program: program, title: "Sign in on another device", timeout: .seconds(60))
    }
}

extension PIN {
    /// Creates a PIN from what the user typed; `nil` if it is empty or too long.
    init?(_ secret: PinentrySecret) {
        guard let pin = secret.withUnsafeBytes({ PIN(utf8: $0) }) else { return nil }
        self = pin
    }

    /// Returns the complaint about a new PIN, or `nil` if it can be used.
    @Sendable static func complaint(_ secret: PinentrySecret) -> String? {
        guard let pin = PIN(secret) else { return "Type 1 to \(maximumBytes) bytes" }
        return pin.isLongEnough ? nil : "At least \(minimumLength) characters"
    }
}
