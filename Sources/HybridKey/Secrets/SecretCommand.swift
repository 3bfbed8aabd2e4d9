// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridAge
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSecrets

/// The command `hybrid-key secret`: keys of age that a phone opens, and secrets that follow from them.
struct SecretCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Open files, backups and disks with a phone.",
        discussion: """
            A key belongs to a passkey on a phone. Anyone can encrypt files to it with age; only the phone opens it. \
            Passwords for restic, borg, gocryptfs, cryptsetup and other programs are derived from the key.
            """,
        subcommands: [
            SecretCreateCommand.self, SecretAddPhoneCommand.self, SecretCheckCommand.self, SecretListCommand.self,
            SecretRecipientCommand.self, SecretIdentityCommand.self, SecretSealedCommand.self,
            SecretRemoveCommand.self, SecretDeriveCommand.self, SecretOpenCommand.self, SecretRunCommand.self,
        ]
    )
}

/// The name of a key, and the store with its file.
struct SecretNameOption: ParsableArguments {
    @Argument(help: ArgumentHelp("The name of the key.", valueName: "name"))
    var name: SecretName

    /// Returns the store and the key.
    ///
    /// - Throws: ``CommandFailure`` if there is no such key, or its file is damaged.
    func load() throws(CommandFailure) -> (store: SecretStore, key: SealedKey) {
        let store = try SecretStore.ofUser()
        return (store, try store.key(name))
    }
}

/// The options of commands that ask a phone for a secret.
struct SecretPhoneOptions: ParsableArguments {
    @OptionGroup
    var options: KeyCreationOptions

    /// Returns the phone.
    func phone() throws -> SecretPhone {
        let (options, launcher) = (options, try options.launcher())
        return SecretPhone(
            seconds: options.timeout,
            journal: Journal(in: try KeySettings.stateFolder()),
            door: .secret,
            report: HybridKey.report
        ) { request in
            try await launcher.performUntilSignal(
                options.request(request.command, purpose: request.purpose, needsSecret: true),
                event: request.event
            )
        }
    }
}

extension SecretName: ExpressibleByArgument {
    /// Creates a name of letters, digits, dots, underscores and hyphens.
    init?(argument: String) { self.init(argument) }
}

extension SecretStore {
    /// Returns the store of the user: `hybrid/secrets` in the user's XDG configuration folder.
    static func ofUser() throws(CommandFailure) -> SecretStore {
        let environment = ProcessEnvironment.variables
        guard let folder = ProcessEnvironment.directory("XDG_CONFIG_HOME", belowHome: ".config", environment) else {
            throw CommandFailure("HOME is not set; set it, or XDG_CONFIG_HOME", status: .usage)
        }
        return SecretStore(in: try StateFolder(path: "\(folder)/secrets"))
    }
}
