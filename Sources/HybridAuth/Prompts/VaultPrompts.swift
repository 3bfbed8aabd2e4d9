// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// Prompts of the vault commands.
struct VaultPrompts: Sendable {
    private static let maximumAttempts = 3
    private static let interrupted = CommandFailure("interrupted", status: .interrupted)

    private let questions: VaultQuestions

    init(_ questioner: Questioner) { questions = VaultQuestions(questioner: questioner) }

    /// Creates the prompts from the settings.
    init(_ settings: Configuration) throws {
        let pinentry = try settings.value(AuthSettings.pinentry)
        let questioner = try Questioner(
            program: AskProgram.path(try settings.value(AuthSettings.ask), ProcessEnvironment.variables),
            pinentry: { () throws(PinentryError) in
                try Pinentry(program: pinentry, title: "Vault for passkeys", timeout: VaultQuestions.limit)
            },
            notify: { report($1) }
        )
        self.init(questioner)
    }

    /// Runs `body`, then closes the window that asks, which shows a failure unless the program that reads it does.
    func closing<Result>(after body: () async throws -> Result) async throws -> Result {
        let result: Result
        do {
            result = try await body()
        } catch {
            let failure = (error as? any ExplainedFailure).map { CommandFailure($0) } ?? Self.interrupted
            let isKnown = failure.code == VaultQuestions.declined.code || HybridAuth.format() == .json
            questions.questioner.finish(.after(failure, isKnown: isKnown))
            throw error
        }
        close()
        return result
    }

    /// Closes the window that asks; a later question opens another one.
    func close() { questions.questioner.finish(.done) }

    /// Unlocks a vault with its PIN, for which the user has three attempts.
    ///
    /// - Returns: The unlocked vault and the PIN.
    func unlock(
        _ vault: Vault,
        to purpose: VaultPurpose,
        saying text: String? = nil,
        acceptingRecords: Bool = false
    ) async throws -> (vault: UnlockedVault, pin: PIN) {
        let subject = VaultQuestions.Subject(purpose: purpose, text: text, path: vault.path)
        return try await unlock(vault, subject, acceptingRecords: acceptingRecords)
    }

    /// Unlocks a vault with a finger, if its user allowed that, or with its PIN.
    ///
    /// - Parameter progress: Shows what happens at the sensor.
    func unlock(
        _ vault: Vault,
        to purpose: VaultPurpose,
        showing progress: AnswerProgress
    ) async throws -> UnlockedVault {
        let subject = VaultQuestions.Subject(purpose: purpose, text: nil, path: vault.path)
        guard let finger = FingerprintPrompt(vault, progress), await finger.isReady else {
            return try await unlock(vault, subject).vault
        }
        switch await questions.pin(subject, or: finger) {
        case .finger(let key):
            do throws(UnlockFailure) {
                let unlocked = try await vault.unlockVault(with: key)
                report(unlocked.warnings)
                return unlocked
            } catch {
                guard error == .keyReplaced else { throw CommandFailure(error) }
                return try await unlock(vault, subject, after: .keyReplaced).vault
            }
        case .typed(let result):
            guard let pin = PIN(try result.get()) else { return try await unlock(vault, subject, after: .empty).vault }
            return try await unlock(vault, subject, typed: pin).vault
        case .failed(let reason): return try await unlock(vault, subject, after: .finger(reason)).vault
        }
    }

    /// Unlocks a vault with the PIN that was typed already, or asks for it; the user has three attempts.
    private func unlock(
        _ vault: Vault,
        _ subject: VaultQuestions.Subject,
        acceptingRecords: Bool = false,
        typed first: PIN? = nil,
        after problem: PromptProblem? = nil
    ) async throws -> (vault: UnlockedVault, pin: PIN) {
        var (typed, problem) = (first, problem)
        for _ in 0..<Self.maximumAttempts {
            let pin: PIN
            if let given = typed.take() { pin = given } else { pin = try await askPIN(subject, problem) }
            do throws(UnlockFailure) {
                let unlocked = try await vault.unlockVault(with: pin, checkingRecords: !acceptingRecords)
                report(unlocked.warnings)
                return (unlocked, pin)
            } catch {
                guard let left = error.attemptsLeft, left > 0 else { throw CommandFailure(error) }
                problem = .wrong(attemptsLeft: left)
            }
        }
        throw CommandFailure("the PIN was wrong; nothing was changed", code: "wrong-pin", status: .notPermitted)
    }

    /// Opens the vault at a location, real or test, unlocks it, runs `body`, and locks it again; a signal ends the prompts.
    ///
    /// - Parameters:
    ///   - location: The location of the vault.
    ///   - purpose: The purpose, shown in the PIN prompt.
    ///   - check: Called with the vault before the PIN prompt.
    ///   - body: Called with the unlocked vault.
    func whileUnlocked<Result: Sendable>(
        _ location: VaultLocation,
        to purpose: VaultPurpose,
        check: @escaping @Sendable (Vault) throws -> Void = { _ in },
        _ body: @escaping @Sendable (UnlockedVault) async throws -> Result
    ) async throws -> Result {
        try await untilSignal {
            let vault: Vault
            do throws(VaultError) {
                vault = try Vault.open(at: location, virtualRadio: try Vault.isTest(at: location))
            } catch {
                throw CommandFailure(opening: error)
            }
            try check(vault)
            return try await closing {
                let unlocked = try await unlock(vault, to: purpose).vault
                return try await withCleanup {
                    await unlocked.lock()
                } of: {
                    try await body(unlocked)
                }
            }
        }
    }

    private func askPIN(_ subject: VaultQuestions.Subject, _ problem: PromptProblem?) async throws -> PIN {
        var problem = problem
        for _ in 0..<Self.maximumAttempts {
            if let pin = PIN(try await questions.pin(subject, problem)) { return pin }
            problem = .empty
        }
        throw VaultQuestions.nothingTyped
    }

    /// Asks twice for a new PIN.
    func askNewPIN(for path: String) async throws -> PIN { try await questions.newPIN(for: path) }

    /// Asks twice for a new passphrase, and asks again if it is too weak.
    func askNewPassphrase(for path: String) async throws -> Passphrase {
        try await questions.newPassphrase(for: path)
    }

    /// Asks for the passphrase or recovery code of a vault and a new PIN, and sets that PIN on this device.
    func join(_ location: VaultLocation, to purpose: VaultPurpose) async throws {
        try await withPortableSecret(for: location.directory, to: purpose, newPINFor: location) {
            _ = try await Vault.join(at: location, secret: $0, pin: $1, comparedAs: $2, resettingRollbackState: $3)
        }
    }

    /// Asks for a passphrase or recovery code and a new PIN, then calls `body`.
    ///
    /// If the vault key is new to this device, the user compares its fingerprint. If this device's record of seen
    /// revisions is unreadable, the user is asked whether to replace it. `body` is then called again with that answer.
    ///
    /// - Parameters:
    ///   - path: Path of the file or directory that the secret opens.
    ///   - purpose: The purpose, shown in the prompt for the secret.
    ///   - location: The location of the vault that gets the new PIN.
    ///   - isRestoring: True if the path is a backup, which may be all that is left of the vault.
    ///   - body: Called with the secret, the new PIN, and the permission to replace the record.
    func withPortableSecret(
        for path: String,
        to purpose: VaultPurpose,
        newPINFor location: VaultLocation,
        isRestoring: Bool = false,
        _ body: (PortableSecret, PIN, _ compared: VaultKeyFingerprint?, _ resettingRollbackState: Bool) async throws ->
            Void
    ) async throws {
        let secret = try await askPortableSecret(for: path, purpose)
        let pin = try await askNewPIN(for: location.directory)
        var compared: VaultKeyFingerprint?
        var isResetting = false
        while true {
            do {
                return try await body(secret, pin, compared, isResetting)
            } catch let error as VaultError {
                switch error {
                case .keyNotCompared(let fingerprint, let isReplacement) where compared == nil:
                    let key = "\(SafeText(quoting: path))\n\n\(fingerprint)"
                    let question =
                        isRestoring
                        ? Self.comparison(ofBackup: key, isReplacement: isReplacement)
                        : Self.comparison(of: key, isReplacement: isReplacement)
                    let ok = isRestoring ? "Restore" : "It is the same"
                    try await confirm(question, ok: ok, timeout: VaultQuestions.longLimit)
                    compared = fingerprint
                case .rollbackStateUnreadable where !isResetting:
                    try await confirm(
                        "This device's record of this vault can't be read, so it is unknown whether passkeys are missing "
                            + "or deleted ones came back. Continue with the present contents?",
                        ok: "Continue"
                    )
                    isResetting = true
                default: throw error
                }
            }
        }
    }

    /// Returns the question about a key that is new to this device.
    private static func comparison(of key: String, isReplacement: Bool) -> String {
        let what = isReplacement ? "This vault's key has changed" : "This vault's key is new to this device"
        return "\(what)\n\n\(key)\n\nCompare these digits with a device that has the vault already; hybrid-auth vault "
            + "status shows them there. If they differ, cancel: someone who knows an earlier secret of the vault has "
            + "put their own key there. Without such a device, they can't be checked."
    }

    /// Returns the question about the key of a backup, with which no device may be left to compare.
    private static func comparison(ofBackup key: String, isReplacement: Bool) -> String {
        let what =
            isReplacement
            ? "This backup uses a different key, as backups made before a rekey do"
            : "The key of this backup is new to this device"
        return "\(what)\n\n\(key)\n\nhybrid-auth vault backup showed these digits when it wrote the file. If you "
            + "wrote down different ones, cancel: someone who knows an earlier secret of the vault has made this "
            + "file. If you wrote down none, restore only a file that no one else could replace."
    }

    private func askPortableSecret(for path: String, _ purpose: VaultPurpose) async throws -> PortableSecret {
        let subject = VaultQuestions.Subject(purpose: purpose, text: nil, path: path)
        var problem: PromptProblem?
        var mistyped: Passphrase?
        for _ in 0..<Self.maximumAttempts {
            let secret = try await questions.secret(subject, problem)
            let passphrase = secret.withUnsafeBytes { Passphrase(utf8: $0) }
            do throws(RecoveryCode.ParseError) {
                let code = try secret.withUnsafeBytes { bytes throws(RecoveryCode.ParseError) in
                    try RecoveryCode(reading: bytes)
                }
                return .recoveryCode(code)
            } catch {
                if error == .mistyped, mistyped == nil {
                    mistyped = passphrase
                    problem = .mistyped
                } else if let passphrase {
                    // A second mismatch means a passphrase that only looks like a recovery code.
                    return .passphrase(passphrase)
                } else {
                    problem = .noSecret
                }
            }
        }
        throw VaultQuestions.nothingTyped
    }

    /// Shows a recovery code; throws an error unless the user confirms that it is written down.
    func show(_ code: RecoveryCode, for path: String) async throws { try await questions.show(code, for: path) }

    /// Asks a question; throws an error unless the user agrees.
    func confirm(_ question: String, ok: String, timeout: Duration? = nil) async throws {
        try await questions.confirm(question, ok: ok, within: timeout ?? VaultQuestions.limit)
    }

    /// Asks before a passkey is deleted permanently; throws an error unless the user agrees.
    func confirmDeletion(of passkey: PasskeySummary) async throws {
        let text = PasskeyText.deletionQuestion(passkey)
        // A program could not name what this version can't read.
        guard let relyingParty = passkey.relyingParty, let account = passkey.user else {
            return try await confirm(text, ok: "Delete")
        }
        let isKey = passkey.isEncryptionKey
        var members = AskMembers.site(relyingParty)
        members.append(("account", AskMembers.account(account, isEncryptionKey: isKey)))
        members.append(("passkey", .string(passkey.record.description)))
        if isKey { members.append(("encryptionKey", .boolean(true))) }
        if passkey.isSSHKey { members.append(("forSSH", .boolean(true))) }
        try await questions.agree(
            to: AskQuestion(.delete, within: VaultQuestions.limit, members),
            text: text,
            ok: "Delete"
        )
    }
}
