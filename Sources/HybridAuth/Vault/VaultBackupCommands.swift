// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// `vault backup FILE`: writes the whole vault to one file.
struct VaultBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write the whole vault to one new file.",
        discussion: "The file opens with the vault's passphrase or recovery code, so the vault must have one."
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    @Argument(help: ArgumentHelp("The file to write; it must not exist.", valueName: "file"))
    var file: String

    func run() async throws {
        guard !file.isEmpty else {
            throw CommandFailure(
                "the backup can't be written: there is no file name; give the name of a new file",
                status: .ioError
            )
        }
        try await options.runUnlocked(to: .backup) { unlocked in
            let key = try await unlocked.vault.backUp(to: file)
            try output.show(
                [("file", .string(file)), ("key", .string("\(key)"))],
                "wrote \(file); it opens with the passphrase or recovery code of the vault",
                "write down the digits of its key, which vault restore shows: \(key)"
            )
        }
    }
}

/// `vault restore FILE`: restores a backup where there is no vault, or merges it into the same vault.
struct VaultRestore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a backup, or merge it into the same vault.",
        discussion: "Nothing is ever overwritten, and deleted passkeys stay deleted."
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    @Argument(help: ArgumentHelp("The backup.", valueName: "file"))
    var file: String

    func run() async throws {
        let location = try options.location.location()
        let backup = try await untilSignal { try await VaultBackup.read(file) }
        let prompts = try options.prompts()
        switch try backup.isOfVault(at: location) {
        case nil:
            try await untilSignal {
                try await prompts.closing {
                    try await prompts.withPortableSecret(
                        for: file,
                        to: .restore,
                        newPINFor: location,
                        isRestoring: true
                    ) {
                        _ = try await backup.restore(
                            to: location,
                            secret: $0,
                            pin: $1,
                            comparedAs: $2,
                            resettingRollbackState: $3
                        )
                    }
                }
                try output.show(
                    [("path", .string(location.directory)), ("restored", .boolean(true))],
                    "restored the vault at \(location.directory)"
                )
            }
        case true?: try await merge(backup)
        case false?: throw VaultError.backupOfAnotherVault(path: location.directory)
        }
    }

    private func merge(_ backup: VaultBackup) async throws {
        try await options.runUnlocked(
            to: .restore,
            saying: "Merge a backup into this vault",
            acceptingRecords: true
        ) { unlocked in
            let vault = unlocked.vault
            let difference = try await vault.difference(merging: backup)
            if !difference.isEmpty {
                let question = "Accept this vault as it is together with the backup?"
                try await unlocked.prompts.confirm("\(question)\n\n\(VaultAccept.summary(difference))", ok: "Accept")
            }
            let added = try await vault.merge(backup, expecting: difference)
            try output.show(
                [("path", .string(unlocked.path)), ("restored", .boolean(false)), ("addedFiles", .number(added))],
                difference.isEmpty ? nil : "accepted: \(VaultAccept.summary(difference))",
                added == 0 ? "the vault already has everything in the backup" : "added \(added) files from the backup"
            )
        }
    }
}

/// `vault accept`: accepts a rolled-back vault as it is.
struct VaultAccept: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Accept a rolled-back vault as it is.",
        discussion: """
            Gives up missing records and accepts older ones; deleted passkeys stay deleted. Passkeys that other \
            devices wrote under a replaced vault key are kept.
            """
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    func run() async throws {
        try await options.runUnlocked(to: .accept, acceptingRecords: true) { unlocked in
            let difference = try await unlocked.vault.difference()
            guard !difference.isEmpty else {
                return try output.show(Self.members(difference), "there is nothing to accept; the vault is as it was")
            }
            let question = "Accept this vault as it is?\n\n\(Self.summary(difference))"
            try await unlocked.prompts.confirm(question, ok: "Accept")
            let accepted = try await unlocked.vault.accept(expecting: difference)
            try output.show(Self.members(accepted), "accepted: \(Self.summary(accepted))")
        }
    }

    private static func members(_ difference: VaultDifference) -> [(String, JSONText)] {
        [
            ("missing", .number(difference.missing)), ("older", .number(difference.older)),
            ("undeleted", .number(difference.undeleted)),
            ("underReplacedKey", .number(difference.underReplacedKey)),
            ("deletedUnderReplacedKey", .number(difference.deletedUnderReplacedKey)),
        ]
    }

    /// Returns one line that lists the differences.
    static func summary(_ difference: VaultDifference) -> String {
        [
            (difference.missing, "missing, given up"), (difference.older, "older than before"),
            (difference.undeleted, "deleted again, as they were before"),
            (difference.underReplacedKey, "made or changed under a replaced key, and kept"),
            (difference.deletedUnderReplacedKey, "deleted under a replaced key, and lost"),
        ]
        .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: "; ")
    }
}
