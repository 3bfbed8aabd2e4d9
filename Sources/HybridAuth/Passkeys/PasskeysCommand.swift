// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// `hybrid-auth passkeys`: lists and changes the passkeys in the vault, and shows their usage history.
///
/// Each subcommand asks for the PIN. Names come from sites, so they are shown as in the prompts of a
/// scan: quoted, shortened, and without terminal control characters.
struct PasskeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passkeys",
        abstract: "List, rename and delete passkeys, and show when they were used.",
        subcommands: [
            PasskeysList.self, PasskeysShow.self, PasskeysRename.self, PasskeysDelete.self, PasskeysSignal.self,
            PasskeysHistory.self, PasskeysSession.self,
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
        _ purpose: VaultPurpose,
        saying text: String? = nil,
        _ body: @escaping @Sendable (UnlockedVault, VaultPrompts) async throws -> String
    ) async throws {
        let output = try await options.runUnlocked(to: purpose, saying: text) { try await body($0.vault, $0.prompts) }
        if !output.isEmpty { try StandardOutput.writeLine(output) }
    }
}

/// `passkeys list`: lists all passkeys.
struct PasskeysList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List all passkeys, the newest first."
    )

    @OptionGroup var output: PasskeyOutput

    @Flag(help: "Also list passkeys that their sites no longer accept.")
    var hidden = false

    func run() async throws {
        try await output.run(.list) { vault, _ in
            let all = try await vault.summaries()
            let passkeys = hidden ? all : all.filter { !$0.isHidden }
            let count = all.count - passkeys.count
            if count > 0 { report("not listed: \(PasskeyText.count(count)) hidden; list them with --hidden") }
            let history = try await PasskeyHistory(vault)
            if output.json {
                let rows = passkeys.map { PasskeyJSON.row($0, history) }
                return JSONText.object([("passkeys", .array(rows))]).description
            }
            if all.isEmpty { report("the vault has no passkeys; a site makes one with hybrid-auth scan") }
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

    @OptionGroup var site: SitePageOptions

    @Argument(help: PasskeyChoice.help)
    var which: String

    func run() async throws {
        guard !site.manage else { return try await showPages() }
        try await output.run(.show) { vault, _ in
            let passkeys = try await vault.summaries()
            let passkey = try PasskeyChoice.find(which, in: passkeys)
            let history = try await PasskeyHistory(vault)
            return output.json
                ? PasskeyJSON.details(passkey, history).description : PasskeyText.details(passkey, history)
        }
    }

    /// Prints the links of the passkey's site; the vault is locked again before they are retrieved.
    private func showPages() async throws {
        let relyingParty = try await output.options.runUnlocked(to: .show, saying: "Find the site of a passkey") {
            unlocked in
            try PasskeyChoice.find(which, in: try await unlocked.vault.summaries()).relyingParty
        }
        guard let relyingParty else {
            throw CommandFailure("this version can't read that passkey; use a later version", status: .notPermitted)
        }
        let pages = try await untilSignal { try await site.pages(of: relyingParty) }
        try StandardOutput.writeLine(try site.text(pages, of: relyingParty, json: output.json))
    }
}

/// `passkeys history`: shows the requests to all devices, including those that used no passkey.
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
        try await output.run(.history) { vault, _ in
            let passkeys = try await vault.summaries()
            let uses = try await PasskeyHistory(vault).all.prefix(last ?? .max)
            if output.json { return JSONText.object([("history", .array(uses.map(PasskeyJSON.use)))]).description }
            if uses.isEmpty { report("there have been no requests yet") }
            return uses.isEmpty ? "" : PasskeyText.history(uses, of: passkeys)
        }
    }
}

/// The usage histories of all devices, grouped by passkey.
struct PasskeyHistory {
    /// All uses, the latest first.
    let all: [PasskeyUse]
    private let uses: [RecordID?: [PasskeyUse]]

    /// Reads the histories and prints warnings about ignored entries.
    init(_ vault: UnlockedVault) async throws {
        let (all, warnings) = try await vault.uses()
        report(warnings)
        self.init(all)
    }

    /// Groups uses, of which the latest come first.
    init(_ all: [PasskeyUse]) {
        self.all = all
        uses = Dictionary(grouping: all, by: \.record)
    }

    /// Returns the uses of one passkey, the latest first.
    func uses(of passkey: PasskeySummary) -> [PasskeyUse] { uses[passkey.record] ?? [] }

    /// Returns the time of the last successful sign-in or signature with a passkey.
    func lastUse(of passkey: PasskeySummary) -> UInt64? {
        uses(of: passkey).first { $0.outcome == .done && [.signIn, .sign].contains($0.operation) }?.time
    }
}

/// `passkeys rename WHICH NAME`: changes the name of an account in the vault only.
struct PasskeysRename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Change the account's name that a passkey is shown with.",
        discussion: """
            The site does not learn the new name, and the account's ID stays. If the site replaces this passkey, the \
            new one has the site's name again.

            \(PasskeyChoice.explanation)
            """
    )

    @OptionGroup var output: PasskeyOutput

    @Argument(help: PasskeyChoice.help)
    var which: String

    @Argument(help: "The account's new name.")
    var name: String

    @Option(help: ArgumentHelp("The account's new display name; default: unchanged.", valueName: "name"))
    var displayName: String?

    func validate() throws {
        if let problem = Self.problem(name, displayName) { throw ValidationError("\(problem).") }
    }

    /// Returns the reason why names can't be given to a passkey, without a period; `nil` if there is none.
    static func problem(_ name: String, _ displayName: String?) -> String? {
        if name.isEmpty { return "A name has at least one character" }
        let isShort = ([name] + [displayName].compactMap(\.self)).allSatisfy {
            $0.utf8.count <= EntityName.maximumBytes
        }
        return isShort ? nil : "A name has at most \(EntityName.maximumBytes) bytes"
    }

    func run() async throws {
        try await output.run(.rename) { vault, _ in
            let passkey = try PasskeyChoice.find(which, in: try await vault.summaries())
            let renamed = try await Self.rename(passkey, name, displayName, in: vault)
            report("the passkey for \(PasskeyText.site(passkey)) is shown as \(SafeText(quoting: name)) from now on")
            return output.json ? renamed.map { PasskeyJSON.summary($0).description } ?? "" : ""
        }
    }

    /// Renames a passkey and returns it with its new name; `nil` if it has been deleted meanwhile.
    ///
    /// - Throws: ``CommandFailure`` if this version can't read the passkey; `VaultError`.
    static func rename(
        _ passkey: PasskeySummary,
        _ name: String,
        _ displayName: String?,
        in vault: UnlockedVault
    ) async throws -> PasskeySummary? {
        guard let user = passkey.user else {
            throw CommandFailure(
                "this version can't read that passkey, so it can't rename it; use a later version",
                status: .notPermitted
            )
        }
        try await vault.rename(passkey.record, name: name, displayName: displayName ?? user.displayName)
        return try await vault.summaries().first { $0.record == passkey.record }
    }
}

/// `passkeys delete WHICH`: deletes a passkey permanently on every device.
struct PasskeysDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a passkey permanently on every device.",
        discussion: """
            The site keeps its part of the passkey: remove it there as well. First make sure that you can sign in there \
            without it.

            \(PasskeyChoice.explanation)
            """
    )

    @OptionGroup var output: PasskeyOutput

    @Argument(help: PasskeyChoice.help)
    var which: String

    @Flag(help: "Skip the confirmation; the PIN is still required.")
    var yes = false

    func run() async throws {
        try await output.run(.delete) { vault, prompts in
            let passkey = try PasskeyChoice.find(which, in: try await vault.summaries())
            if !yes { try await prompts.confirmDeletion(of: passkey) }
            try await vault.delete(passkey.record)
            let remedy = passkey.isEncryptionKey ? "" : "; remove it at the site, too"
            report("deleted the passkey for \(PasskeyText.site(passkey))\(remedy)")
            return output.json ? PasskeyJSON.summary(passkey).description : ""
        }
    }
}
