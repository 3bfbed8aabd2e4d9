// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// The person who looks after a vault, asked through pinentry.
struct VaultPrompts: Sendable {
    private static let title = "Vault for passkeys"
    private static let patience = Duration.seconds(120)
    private static let tries = 3

    private let pinentry: Pinentry

    init(program: String?) throws {
        do {
            pinentry = try Pinentry(program: program)
        } catch {
            throw CommandFailure(error.sentence, status: .unavailable)
        }
    }

    /// Opens a vault with its PIN, asking three times at most; gives the PIN too.
    func open(
        _ vault: Vault,
        to purpose: String,
        acceptingRecords: Bool = false
    ) async throws -> (vault: UnlockedVault, pin: PIN) {
        var complaint: String?
        for _ in 0..<Self.tries {
            let pin = try await askPIN(for: vault.path, purpose, complaint)
            do throws(UnlockFailure) {
                let opened =
                    acceptingRecords ? try await vault.openForAcceptance(with: pin) : try await vault.open(with: pin)
                for note in opened.notes { say("left alone: \(note.path): \(note.reason)") }
                return (opened, pin)
            } catch {
                guard let left = error.attemptsLeft else {
                    let cause = error.underlying as? VaultError
                    throw CommandFailure(error.sentence, status: cause?.statusOfReading ?? .notPermitted)
                }
                guard left > 0 else {
                    throw CommandFailure("the PIN was wrong too often; wait, then try again", status: .notPermitted)
                }
                complaint = "Wrong PIN; \(left) more before a wait"
            }
        }
        throw CommandFailure("the PIN was wrong; nothing was changed", status: .notPermitted)
    }

    private func askPIN(for path: String, _ purpose: String, _ complaint: String?) async throws -> PIN {
        var complaint = complaint
        for _ in 0..<Self.tries {
            let secret = try await answered {
                try await pinentry.getPIN(
                    title: Self.title,
                    description: "\(purpose)\n\n\(SafeText(quoting: path))",
                    prompt: "PIN:",
                    error: complaint,
                    timeout: Self.patience
                )
            }
            if let pin = secret.withUnsafeBytes({ PIN(utf8: $0) }) { return pin }
            complaint = "Type the PIN, or cancel"
        }
        throw Self.nothingTyped
    }

    /// Asks for a new PIN, twice.
    func askNewPIN(for path: String) async throws -> PIN {
        let secret = try await answered {
            try await pinentry.getNewPIN(
                title: Self.title,
                description: "A new PIN for this vault on this device\n\n\(SafeText(quoting: path))\n\nAt least "
                    + "\(PIN.minimumLength) characters. It opens the vault on this device only.",
                timeout: Self.patience
            ) { secret in
                guard let pin = secret.withUnsafeBytes({ PIN(utf8: $0) }) else {
                    return "Type 1 to \(PIN.maximumBytes) bytes"
                }
                return pin.isLongEnough ? nil : "At least \(PIN.minimumLength) characters"
            }
        }
        guard let pin = secret.withUnsafeBytes({ PIN(utf8: $0) }) else { throw Self.nothingTyped }
        return pin
    }

    /// Asks for a new passphrase, twice, with a hint at its strength.
    func askNewPassphrase(for path: String) async throws -> Passphrase {
        let texts = NewPINTexts(
            prompt: "Passphrase:",
            repeatPrompt: "Again:",
            mismatch: "The two are not the same; type it again"
        )
        let secret = try await answered(choosing: "passphrase") {
            try await pinentry.getNewPIN(
                title: Self.title,
                description: "A new passphrase for this vault\n\n\(SafeText(quoting: path))\n\nIt opens every copy of "
                    + "the vault anywhere. Five words drawn at random are enough; a sentence from a book is not.",
                texts: texts,
                timeout: Self.patience
            ) { secret in
                guard let passphrase = secret.withUnsafeBytes({ Passphrase(utf8: $0) }) else {
                    return "Type 1 to \(Passphrase.maximumBytes) bytes"
                }
                return passphrase.isStrongEnough
                    ? nil : "Worth about \(passphrase.strength) bits; \(Passphrase.minimumBits) are needed"
            }
        }
        guard let passphrase = secret.withUnsafeBytes({ Passphrase(utf8: $0) }) else { throw Self.nothingTyped }
        return passphrase
    }

    /// Asks for the passphrase or the recovery code, whichever the person has.
    func askSecret(for path: String, _ purpose: String) async throws -> PortableSecret {
        var complaint: String?
        var mistyped: Passphrase?
        for _ in 0..<Self.tries {
            let secret = try await answered {
                try await pinentry.getPIN(
                    title: Self.title,
                    description:
                        "\(purpose)\n\n\(SafeText(quoting: path))\n\nType its passphrase or its recovery code.",
                    prompt: "Secret:",
                    error: complaint,
                    timeout: Self.patience
                )
            }
            let code = secret.withUnsafeBytes { bytes in
                Result { () throws(RecoveryCode.Refusal) in try RecoveryCode(reading: bytes) }
            }
            let passphrase = secret.withUnsafeBytes { Passphrase(utf8: $0) }
            switch (code, passphrase) {
            case (.success(let code), _): return .recoveryCode(code)
            case (.failure(.mistyped), _) where mistyped == nil:
                mistyped = passphrase
                complaint = "The recovery code has a typing error"
            // Typed twice, it may be a passphrase that only looks like a code.
            case (.failure, let passphrase?): return .passphrase(passphrase)
            case (.failure, nil): complaint = "Type the passphrase or the recovery code, or cancel"
            }
        }
        throw Self.nothingTyped
    }

    /// Shows a recovery code once, and goes on only when the person says that it is written down.
    func show(_ code: RecoveryCode, for path: String) async throws {
        let answer = try await answered {
            try await pinentry.confirm(
                title: Self.title,
                description:
                    "The recovery code of this vault\n\n\(SafeText(quoting: path))\n\n\(code.text)\n\nWrite it on "
                    + "paper and keep it away from this device. It is shown only now.",
                ok: "Written down",
                cancel: "Cancel",
                timeout: .seconds(600)
            )
        }
        guard answer == .yes else { throw Self.declined }
    }

    /// Does something, and once more when a person gives up what this device remembers but can't read.
    func confirmingForgetting(_ act: (_ forgettingSeen: Bool) async throws -> Void) async throws {
        do {
            try await act(false)
        } catch let error as VaultError {
            guard case .memoryUnreadable = error else { throw error }
            try await confirm(
                "What this device remembers of this vault can't be read. It can't tell whether passkeys are missing, or "
                    + "deleted ones are back. Go on with what is there?",
                ok: "Go on"
            )
            try await act(true)
        }
    }

    /// Asks a question that a person may decline.
    func confirm(_ question: String, ok: String) async throws {
        let answer = try await answered {
            try await pinentry.confirm(
                title: Self.title,
                description: question,
                ok: ok,
                cancel: "Cancel",
                timeout: Self.patience
            )
        }
        guard answer == .yes else { throw Self.declined }
    }

    private static let declined = CommandFailure("cancelled; nothing was changed", status: .notPermitted)
    private static let nothingTyped = CommandFailure("nothing was typed; nothing was changed", status: .notPermitted)

    private func answered<Answer: Sendable>(
        choosing what: String = "PIN",
        _ ask: () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await ask()
        } catch let error as PinentryError {
            switch error {
            case .cancelled: throw Self.declined
            case .tooManyTries:
                throw CommandFailure("no \(what) was chosen after several tries; try again", status: .notPermitted)
            case .timedOut: throw CommandFailure(error.sentence, status: .temporary)
            case .takenDown:
                await PromptInterruption.takesPlace()
                throw CancellationError()
            default: throw CommandFailure(error.sentence, status: .unavailable)
            }
        }
    }
}
