// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridVault

/// `vault backup FILE`: the whole vault in one file.
struct VaultBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write the whole vault to one new file.",
        discussion: "The file opens with the vault's passphrase or recovery code, so the vault must have one."
    )

    @OptionGroup var options: VaultOptions

    @Argument(help: ArgumentHelp("The file to write; it must not exist.", valueName: "file"))
    var file: String

    func run() async throws {
        try await administering {
            guard !file.isEmpty else {
                throw CommandFailure("the backup can't be written: no file is named; name a new one", status: .ioError)
            }
            let vault = try options.place.open()
            let opened = try await options.keeper().open(vault, to: "Write a backup of this vault").vault
            try await opened.backUp(to: file)
            await opened.lock()
            say("wrote \(file); it opens with the passphrase or recovery code of the vault")
        }
    }
}

/// `vault restore FILE`: puts a backup where no vault is, or unites it with the same vault.
struct VaultRestore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a backup where no vault is, or unite it with the same vault.",
        discussion: "Nothing is ever overwritten, and what was deleted stays deleted."
    )

    @OptionGroup var options: VaultOptions

    @Argument(help: ArgumentHelp("The backup.", valueName: "file"))
    var file: String

    func run() async throws {
        try await administering {
            let (directory, state) = (try options.place.directory(), try options.place.stateDirectory())
            let backup = try await VaultBackup.read(file)
            let keeper = try options.keeper()
            switch try backup.isOfVault(at: directory, stateDirectory: state) {
            case nil:
                let secret = try await keeper.askSecret(for: file, "Restore this backup")
                let pin = try await keeper.askNewPIN(for: directory)
                try await keeper.confirmingForgetting { forgetting in
                    _ = try await backup.restore(
                        to: directory,
                        stateDirectory: state,
                        secret: secret,
                        pin: pin,
                        forgettingSeen: forgetting
                    )
                }
                say("restored the vault at \(directory)")
            case true?:
                let vault = try options.place.open()
                let purpose = "Unite this vault with a backup of it"
                let opened = try await keeper.open(vault, to: purpose, acceptingRecords: true).vault
                let difference = try await opened.difference(unitedWith: backup)
                if !difference.isEmpty {
                    let question = "With the backup, take this vault as it is then?"
                    try await keeper.confirm("\(question)\n\n\(VaultAccept.words(difference))", ok: "Accept")
                }
                let added = try await opened.unite(with: backup, expecting: difference)
                await opened.lock()
                if !difference.isEmpty { say("accepted: \(VaultAccept.words(difference))") }
                say(added == 0 ? "the vault holds all of the backup already" : "added \(added) files from the backup")
            case false?:
                throw VaultError.backupOfAnotherVault(path: directory)
            }
        }
    }
}
