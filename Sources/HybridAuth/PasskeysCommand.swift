// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridVault

/// `hybrid-auth passkeys`: what is in the vault, and what was done with it.
///
/// Each subcommand asks for the PIN through pinentry. Names come from sites, so they are shown as the questions of a
/// scan show them: quoted, short, and without anything that a terminal obeys.
struct PasskeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passkeys",
        abstract: "See, rename and delete passkeys, and see when they were used.",
        subcommands: [
            PasskeysList.self, PasskeysShow.self, PasskeysRename.self, PasskeysDelete.self, PasskeysHistory.self,
        ]
    )
}

/// How a subcommand of `passkeys` answers.
struct PasskeyOutput: ParsableArguments {
    @OptionGroup var options: VaultOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    /// Asks for the PIN, does something with the open vault, locks it again, and prints what there is to print.
    func run(
        _ purpose: String,
        _ body: @escaping @Sendable (UnlockedVault, VaultPrompts) async throws -> String
    ) async throws {
        let options = options
        try await administering {
            let vault = try options.place.open()
            let keeper = try options.keeper()
            let opened = try await keeper.open(vault, to: purpose).vault
            let text: String
            do {
                text = try await body(opened, keeper)
            } catch {
                await opened.lock()
                throw error
            }
            await opened.lock()
            guard text.isEmpty || StandardOutput.writeLine(Array(text.utf8)) else {
                throw CommandFailure("standard output can't be written; free some space", status: .ioError)
            }
        }
    }
}

/// `passkeys list`: all of them.
struct PasskeysList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show all passkeys, the last created first."
    )

    @OptionGroup var output: PasskeyOutput

    func run() async throws {
        let json = output.json
        try await output.run("List the passkeys of this vault") { vault, _ in
            let entries = try await vault.entries()
            let uses = try await PasskeyHistory(vault)
            if json {
                return JSONText.object([("passkeys", .list(entries.map { PasskeyJSON.entry($0, uses) }))]).description
            }
            if entries.isEmpty { say("the vault has no passkeys; a site makes one with hybrid-auth scan") }
            return entries.isEmpty ? "" : PasskeyText.table(entries, uses)
        }
    }
}

/// `passkeys show WHICH`: one of them, with its history.
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
            let entries = try await vault.entries()
            let entry = try PasskeyChoice.find(which, in: entries)
            let uses = try await PasskeyHistory(vault)
            if json { return PasskeyJSON.whole(entry, uses).description }
            return PasskeyText.whole(entry, uses)
        }
    }
}

/// `passkeys history`: every request on every device, those that belong to no passkey included.
struct PasskeysHistory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show what was asked and what came of it, the last first."
    )

    @OptionGroup var output: PasskeyOutput

    @Option(help: ArgumentHelp("Show at most that many.", valueName: "n"))
    var last: Int?

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last takes 1 or more.") }
    }

    func run() async throws {
        let (json, last) = (output.json, last ?? .max)
        try await output.run("Show the history of this vault") { vault, _ in
            let entries = try await vault.entries()
            let uses = try await PasskeyHistory(vault).all.prefix(last)
            if json { return JSONText.object([("history", .list(uses.map(PasskeyJSON.use)))]).description }
            if uses.isEmpty { say("nothing was asked yet") }
            return uses.isEmpty ? "" : PasskeyText.history(uses, of: entries)
        }
    }
}
