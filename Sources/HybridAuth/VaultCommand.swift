// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// `hybrid-auth vault`: looks after the place where passkeys are kept.
///
/// Each subcommand asks through pinentry, never on the command line, and changes nothing unless it says so. None of
/// them uses the radio: they sign nothing, so nobody has to be near.
struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "PictureView after the vault that keeps the passkeys.",
        subcommands: [
            VaultInit.self, VaultStatusCommand.self, VaultChangePIN.self, VaultAddPassphrase.self,
            VaultRecoveryCode.self, VaultBackupCommand.self, VaultRestore.self, VaultRekey.self, VaultAccept.self,
        ]
    )
}

/// Where the vault is.
struct VaultLocationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("\(AuthSettings.vault.help)", valueName: "dir"))
    var vault: String?

    /// Its directory: by flag, variable, `auth.env`, or the usual one.
    func directory() throws -> String {
        var flags = GivenFlags()
        flags.set(AuthSettings.vault, vault)
        return try AuthSettings.resolve(flags).value(AuthSettings.vault) ?? BaseDirectory.data.path() + "/vault"
    }
    func stateDirectory() throws -> String { try BaseDirectory.state.path() }

    /// Opens the vault of whichever kind it is: the radio matters to who signs, and nobody signs here.
    func open() throws -> Vault {
        let (directory, state) = (try directory(), try stateDirectory())
        do throws(VaultError) {
            let isTest = try Vault.isTest(directory: directory, stateDirectory: state)
            return try Vault.open(directory: directory, stateDirectory: state, virtualRadio: isTest)
        } catch {
            throw CommandFailure(error.sentence, status: error.statusOfReading)
        }
    }
}

/// Where the vault is, and who asks.
struct VaultOptions: ParsableArguments {
    @OptionGroup var place: VaultLocationOptions

    @Option(help: ArgumentHelp("The program that asks; default pinentry.", valueName: "program"))
    var pinentry: String?

    func keeper() throws -> VaultPrompts {
        var flags = GivenFlags()
        flags.set(AuthSettings.pinentry, pinentry)
        return try VaultPrompts(program: try AuthSettings.resolve(flags).value(AuthSettings.pinentry))
    }
}

/// Runs the body of a subcommand: a signal takes a prompt down, and a vault's refusal ends the program.
func administering(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let ending = await withTerminationSignals { try await body() }
    if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
    do {
        try ending.result.get()
    } catch let error as VaultError {
        throw CommandFailure(error)
    }
}

/// Says on standard error what was done.
func say(_ text: String) { StandardError.writeLine("\(HybridAuth.programName): \(text)") }
