// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// `hybrid-auth vault`: management of the vault.
///
/// Secrets are asked for with pinentry, never on the command line. No subcommand uses the radio: nothing is signed, so
/// no proof of proximity is needed.
struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Manage the vault that stores the passkeys.",
        subcommands: [
            VaultInit.self, VaultStatusCommand.self, VaultChangePIN.self, VaultAddPassphrase.self,
            VaultRecoveryCode.self, VaultBackupCommand.self, VaultRestore.self, VaultRekey.self, VaultAccept.self,
        ]
    )
}

/// Option for the location of the vault.
struct VaultLocationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("\(AuthSettings.vault.help)", valueName: "dir"))
    var vault: String?

    /// Returns the location from the flag, the environment, `auth.env`, or the default.
    func location() throws -> VaultLocation {
        var flags = GivenFlags()
        flags.set(AuthSettings.vault, vault)
        return try VaultLocation(path: try AuthSettings.resolve(flags).value(AuthSettings.vault))
    }

    /// Opens the vault, real or test: the kind matters only for signing.
    func open() throws -> Vault {
        let location = try location()
        do throws(VaultError) {
            return try Vault.open(at: location, virtualRadio: try Vault.isTest(at: location))
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

    func prompts() throws -> VaultPrompts {
        var flags = GivenFlags()
        flags.set(AuthSettings.pinentry, pinentry)
        return try VaultPrompts(program: try AuthSettings.resolve(flags).value(AuthSettings.pinentry))
    }

    /// Opens the vault with its PIN, runs `body`, and locks the vault again.
    ///
    /// - Parameters:
    ///   - purpose: The purpose, shown in the PIN prompt.
    ///   - acceptingRecords: True to skip the check of the records, which the user is about to accept.
    ///   - check: Called with the vault before the PIN prompt.
    func withUnlockedVault(
        to purpose: String,
        acceptingRecords: Bool = false,
        check: (Vault) throws -> Void = { _ in },
        _ body: (UnlockedSession) async throws -> Void
    ) async throws {
        let vault = try location.open()
        try check(vault)
        let prompts = try prompts()
        let (unlocked, pin) = try await prompts.open(vault, to: purpose, acceptingRecords: acceptingRecords)
        do {
            try await body(UnlockedSession(vault: unlocked, path: vault.path, pin: pin, prompts: prompts))
        } catch {
            await unlocked.lock()
            throw error
        }
        await unlocked.lock()
    }
}

/// An unlocked vault during one command.
struct UnlockedSession {
    let vault: UnlockedVault
    /// Path of the vault directory, for prompts.
    let path: String
    let pin: PIN
    let prompts: VaultPrompts
}

/// Runs the body of a subcommand.
///
/// Signals end its prompts, and a ``VaultError`` becomes the failure of the command.
func runVaultCommand(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let outcome = await withTerminationSignals { try await body() }
    if outcome.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
    do {
        try outcome.result.get()
    } catch let error as VaultError {
        throw CommandFailure(error)
    }
}

/// Prints one line about the outcome of a command on standard error.
func report(_ text: String) { StandardError.writeLine("\(HybridAuth.programName): \(text)") }

/// Prints warnings about ignored files.
func report(_ warnings: [VaultWarning]) {
    for warning in warnings { report("ignored: \(warning.path): \(warning.reason)") }
}

extension CommandFailure {
    /// Creates the failure of a command that could not open the vault.
    init(opening error: VaultError) { self.init(error.sentence, status: error.statusWhenOpening) }
}
