// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridVault

/// `hybrid-auth passkeys`: lists and changes the passkeys in the vault, and shows their usage history.
///
/// Each subcommand asks for the PIN with pinentry. Names come from sites, so they are shown as in the prompts of a
/// scan: quoted, shortened, and without terminal control characters.
struct PasskeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passkeys",
        abstract: "List, rename and delete passkeys, and show when they were used.",
        subcommands: [
            PasskeysList.self, PasskeysShow.self, PasskeysRename.self, PasskeysDelete.self, PasskeysHistory.self,
        ]
    )
}

/// Options of all subcommands of `passkeys`.
struct PasskeyOutput: ParsableArguments {
    @OptionGroup var options: VaultOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    /// Opens the vault with its PIN, runs `body`, locks the vault again, and prints the result of `body`, if any.
    func run(
        _ purpose: String,
        _ body: @escaping @Sendable (UnlockedVault, VaultPrompts) async throws -> String
    ) async throws {
        try await runVaultCommand {
            var text = ""
            try await options.withUnlockedVault(to: purpose) { text = try await body($0.vault, $0.prompts) }
            if !text.isEmpty { try StandardOutput.writeLine(text) }
        }
    }
}

/// `passkeys list`: lists all passkeys.
struct PasskeysList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List all passkeys, the newest first."
    )

    @OptionGroup var output: PasskeyOutput

    func run() async throws {
        let json = output.json
        try await output.run("List the passkeys of this vault") { vault, _ in
            let passkeys = try await vault.summaries()
            let history = try await PasskeyHistory(vault)
            if json {
                return JSONText.object([("passkeys", .array(passkeys.map { PasskeyJSON.row($0, history) }))])
                    .description
            }
            if passkeys.isEmpty { report("the vault has no passkeys; a site makes one with hybrid-auth scan") }
            return passkeys.isEmpty ? "" : PasskeyText.table(passkeys, history)
        }
    }
}

/// `passkeys show WHICH`: shows one passkey with its usage history.
struct PasskeysShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one passkey and its history.",
        discussion: PasskeyChoice.explanation
    )

    @OptionGroup var output: PasskeyOutput

    @Argument(help: PasskeyChoice.help)
    var which: String

    func run() async throws {
        let (json, which) = (output.json, which)
        try await output.run("Show a passkey of this vault") { vault, _ in
            let passkeys = try await vault.summaries()
            let passkey = try PasskeyChoice.find(which, in: passkeys)
            let history = try await PasskeyHistory(vault)
            if json { return PasskeyJSON.details(passkey, history).description }
            return PasskeyText.details(passkey, history)
        }
    }
}

/// `passkeys history`: shows the requests on all devices, including those without a passkey.
struct PasskeysHistory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show all requests and their outcomes, the latest first."
    )

    @OptionGroup var output: PasskeyOutput

    @Option(help: ArgumentHelp("Maximum number of requests to show.", valueName: "n"))
    var last: Int?

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last takes 1 or more.") }
    }

    func run() async throws {
        let (json, last) = (output.json, last ?? .max)
        try await output.run("Show the history of this vault") { vault, _ in
            let passkeys = try await vault.summaries()
            let uses = try await PasskeyHistory(vault).all.prefix(last)
            if json { return JSONText.object([("history", .array(uses.map(PasskeyJSON.use)))]).description }
            if uses.isEmpty { report("there were no requests yet") }
            return uses.isEmpty ? "" : PasskeyText.history(uses, of: passkeys)
        }
    }
}
