// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// Prompts of the vault commands, shown with pinentry.
struct VaultPrompts: Sendable {
    private static let maximumAttempts = 3

    private let pinentry: Pinentry

    init(program: String?) throws {
        pinentry = try Pinentry(program: program, title: "Vault for passkeys", timeout: .seconds(120))
    }

    /// Unlocks a vault with its PIN, for which the user has three attempts.
    ///
    /// - Returns: The unlocked vault and the PIN.
    func unlock(
        _ vault: Vault,
        to purpose: String,
        acceptingRecords: Bool = false
    ) async throws -> (vault: UnlockedVault, pin: PIN) {
        var complaint: String?
        for _ in 0..<Self.maximumAttempts {
            let pin = try await askPIN(for: vault.path, purpose, complaint)
            do throws(UnlockFailure) {
                let unlocked = try await vault.unlockVault(with: pin, checkingRecords: !acceptingRecords)
                report(unlocked.warnings)
                return (unlocked, pin)
            } catch {
                guard let left = error.attemptsLeft, left > 0 else { throw CommandFailure(error) }
                complaint = "Wrong PIN; attempts left before a delay: \(left)"
            }
        }
        throw CommandFailure("the PIN was wrong; nothing was changed", code: "wrong-pin", status: .notPermitted)
    }

    private func askPIN(for path: String, _ purpose: String, _ complaint: String?) async throws -> PIN {
        var complaint = complaint
        for _ in 0..<Self.maximumAttempts {
            let secret = try await ask("\(purpose)\n\n\(SafeText(quoting: path))", prompt: "PIN:", complaint)
            if let pin = PIN(secret) { return pin }
            complaint = "Type the PIN, or cancel"
        }
        throw Self.nothingTyped
    }

    private func ask(_ description: String, prompt: String, _ complaint: String?) async throws -> PinentrySecret {
        try await mappingFailures {
            try await pinentry.getPIN(description: description, prompt: prompt, error: complaint)
        }
    }

    /// Asks twice for a new PIN.
    func askNewPIN(for path: String) async throws -> PIN {
        let secret = try await mappingFailures {
            try await pinentry.getNewPIN(
                description: "A new PIN for this vault on this device\n\n\(SafeText(quoting: path))\n\nAt least "
                    + "\(PIN.minimumLength) characters. It opens the vault on this device only.",
                complaint: PIN.complaint
            )
        }
        guard let pin = PIN(secret) else { throw Self.nothingTyped }
        return pin
    }

    /// Asks twice for a new passphrase, and asks again if it is too weak.
    func askNewPassphrase(for path: String) async throws -> Passphrase {
        let secret = try await mappingFailures(choosing: "passphrase") {
            try await pinentry.getNewPIN(
                description: "A new passphrase for this vault\n\n\(SafeText(quoting: path))\n\nIt opens every copy of "
                    + "the vault, on any device. Five random words are enough; a sentence from a book is not.",
                texts: .passphrase
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

    /// Asks for the passphrase or recovery code of a vault and a new PIN, and sets that PIN on this device.
    func join(_ location: VaultLocation, to purpose: String) async throws {
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
        to purpose: String,
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
                    try await confirm(question, ok: ok, timeout: .seconds(600))
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

    private func askPortableSecret(for path: String, _ purpose: String) async throws -> PortableSecret {
        let description = "\(purpose)\n\n\(SafeText(quoting: path))\n\nType its passphrase or its recovery code."
        var complaint: String?
        var mistyped: Passphrase?
        for _ in 0..<Self.maximumAttempts {
            let secret = try await ask(description, prompt: "Secret:", complaint)
            let passphrase = secret.withUnsafeBytes { Passphrase(utf8: $0) }
            do throws(RecoveryCode.ParseError) {
                let code = try secret.withUnsafeBytes { bytes throws(RecoveryCode.ParseError) in
                    try RecoveryCode(reading: bytes)
                }
                return .recoveryCode(code)
            } catch {
                if error == .mistyped, mistyped == nil {
                    mistyped = passphrase
                    complaint = "The recovery code has a typo"
                } else if let passphrase {
                    // A second mismatch means a passphrase that only looks like a recovery code.
                    return .passphrase(passphrase)
                } else {
                    complaint = "Type the passphrase or the recovery code, or cancel"
                }
            }
        }
        throw Self.nothingTyped
    }

    /// Shows a recovery code; throws an error unless the user confirms that it is written down.
    func show(_ code: RecoveryCode, for path: String) async throws {
        try await confirm(
            "The recovery code of this vault\n\n\(SafeText(quoting: path))\n\n\(code.text)\n\nWrite it on paper and keep "
                + "it away from this device. It is shown only once.",
            ok: "Written down",
            timeout: .seconds(600)
        )
    }

    /// Asks a question; throws an error unless the user agrees.
    func confirm(_ question: String, ok: String, timeout: Duration? = nil) async throws {
        var pinentry = pinentry
        if let timeout { pinentry.timeout = timeout }
        let answer = try await mappingFailures {
            try await pinentry.confirm(description: question, ok: ok, cancel: "Cancel")
        }
        guard answer == .yes else { throw Self.declined }
    }

    private static let declined = CommandFailure(
        "cancelled; nothing was changed",
        code: "declined",
        status: .notPermitted
    )
    private static let nothingTyped = CommandFailure(
        "nothing was typed; nothing was changed",
        code: "declined",
        status: .notPermitted
    )

    private func mappingFailures<Answer: Sendable>(
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
            case .interrupted: throw await PromptInterruption.propagate()
            default: throw error
            }
        }
    }
}
