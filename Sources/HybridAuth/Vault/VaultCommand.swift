// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridTPM
internal import HybridVault

/// `hybrid-auth vault`: manages the vault.
///
/// Secrets are asked for in prompts, never on the command line. No subcommand uses the radio: nothing is signed, so
/// no proof of proximity is needed.
struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Manage the vault that stores the passkeys.",
        subcommands: [
            VaultInitCommand.self, VaultJoinCommand.self, VaultStatusCommand.self, VaultChangePIN.self,
            VaultAddPassphrase.self, VaultRecoveryCode.self, VaultTPMCommand.self, VaultFingerCommand.self,
            VaultBackupCommand.self, VaultRestore.self, VaultRekey.self, VaultAccept.self, VaultForgetCommand.self,
        ]
    )
}

/// Option for the location of the vault.
struct VaultLocationOptions: ParsableArguments {
    @Option(AuthSettings.vault) var vault: String?

    /// Returns the location from the flag, the environment, `auth.env`, or the default.
    func location() throws -> VaultLocation {
        let settings = try AuthSettings.resolve(self)
        let tpm = try settings.value(AuthSettings.tpm)
        return try VaultLocation(path: try settings.value(AuthSettings.vault), tpm: tpm)
    }

    /// Opens the vault, real or test: the kind matters only for signing.
    func open() throws -> Vault {
        try opening { location throws(VaultError) in
            try Vault.open(at: location, virtualRadio: try Vault.isTest(at: location))
        }
    }

    /// Calls `open` with the location.
    ///
    /// - Throws: ``CommandFailure`` with the status of a vault that cannot be opened.
    func opening<Opened>(_ open: (VaultLocation) throws(VaultError) -> Opened) throws -> Opened {
        let location = try location()
        do throws(VaultError) {
            return try open(location)
        } catch {
            throw CommandFailure(opening: error)
        }
    }
}

/// Options for the location of the vault and the prompt program.
struct VaultOptions: ParsableArguments {
    @OptionGroup var location: VaultLocationOptions

    @Option(help: ArgumentHelp("The prompt program; default pinentry.", valueName: "program"))
    var pinentry: String?

    @Option(AuthSettings.ask) var ask: String?

    func prompts() throws -> VaultPrompts { try VaultPrompts(try AuthSettings.resolve(self)) }

    /// Unlocks the vault with its PIN, runs `body`, and locks the vault again; a signal ends the prompts.
    ///
    /// - Parameters:
    ///   - purpose: The purpose, shown in the PIN prompt.
    ///   - text: The text of that prompt, if the purpose has none of its own.
    ///   - acceptingRecords: True to skip the check of the records, which the user is about to accept.
    ///   - check: Called with the vault before the PIN prompt.
    ///   - body: Called with the unlocked vault.
    func runUnlocked<Result: Sendable>(
        to purpose: VaultPurpose,
        saying text: String? = nil,
        acceptingRecords: Bool = false,
        check: @escaping @Sendable (Vault) throws -> Void = { _ in },
        _ body: @escaping @Sendable (UnlockedVaultContext) async throws -> Result
    ) async throws -> Result {
        try await untilSignal {
            let vault = try location.open()
            try check(vault)
            let prompts = try prompts()
            return try await prompts.closing {
                let (unlocked, pin) = try await prompts.unlock(
                    vault,
                    to: purpose,
                    saying: text,
                    acceptingRecords: acceptingRecords
                )
                return try await withCleanup {
                    await unlocked.lock()
                } of: {
                    try await body(UnlockedVaultContext(vault: unlocked, path: vault.path, pin: pin, prompts: prompts))
                }
            }
        }
    }
}

/// An unlocked vault during one command.
struct UnlockedVaultContext {
    let vault: UnlockedVault
    /// Path of the vault directory, for prompts.
    let path: String
    let pin: PIN
    let prompts: VaultPrompts
}

extension CommandFailure {
    /// Creates the failure of a command that cannot open the vault.
    init(opening error: VaultError) {
        self.init(error.sentence, code: error.code, status: error.statusWhenOpening)
    }

    /// Creates the failure of a command that cannot unlock the vault with a PIN.
    init(_ failure: UnlockFailure) {
        if let seconds = failure.waitSeconds {
            let sentence = "the PIN was wrong too often; try again in \(seconds) seconds"
            self.init(sentence, code: "locked-out", status: .notPermitted, waitSeconds: seconds)
        } else if let error = failure.underlying as? VaultError {
            self.init(opening: error)
        } else {
            self.init(failure.sentence, status: .notPermitted)
        }
    }
}

/// Prints one line about the outcome of a command on standard error.
func report(_ text: String) { StandardError.writeLine("\(HybridAuth.programName): \(text)") }

/// Prints warnings about ignored files.
func report(_ warnings: [VaultWarning]) {
    for line in warnings.lines { report(line) }
}

extension [VaultWarning] {
    private static var maximumLines: Int { 20 }

    /// One line for each of the first warnings, and the number of the others: a file sync may bring any number.
    var lines: [String] {
        let lines = prefix(Self.maximumLines).map { "ignored: \($0.path): \($0.reason)" }
        return count > lines.count ? lines + ["ignored: \(count - lines.count) more files"] : lines
    }
}

extension VaultLocation {
    /// Creates the location of a vault, by default in the user's XDG data directory.
    init(path: String?, tpm: TPMAddress) throws {
        func directory(_ variable: String, _ fallback: String, orElse remedy: String = "") throws -> String {
            let environment = ProcessEnvironment.variables
            guard let directory = ProcessEnvironment.directory(variable, belowHome: fallback, environment) else {
                throw CommandFailure("HOME is not set; set it, or \(remedy)set XDG_STATE_HOME", status: .usage)
            }
            return directory
        }
        let remedy = "name the vault with --vault and "
        self.init(
            directory: try path ?? directory("XDG_DATA_HOME", ".local/share", orElse: remedy) + "/vault",
            stateDirectory: try directory("XDG_STATE_HOME", ".local/state"),
            tpm: tpm
        )
    }
}
