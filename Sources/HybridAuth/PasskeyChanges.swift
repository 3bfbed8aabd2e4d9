// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

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

    @Option(help: ArgumentHelp("The account's new display name; by default it stays.", valueName: "name"))
    var displayName: String?

    func validate() throws {
        guard !name.isEmpty else { throw ValidationError("A name has at least one character.") }
        guard ([name] + [displayName].compactMap(\.self)).allSatisfy({ $0.utf8.count <= EntityName.maximumBytes })
        else { throw ValidationError("A name has at most \(EntityName.maximumBytes) bytes.") }
    }

    func run() async throws {
        let (json, which, name, displayName) = (output.json, which, name, displayName)
        try await output.run("Rename a passkey of this vault") { vault, _ in
            let passkey = try PasskeyChoice.find(which, in: try await vault.summaries())
            guard let user = passkey.user else {
                throw CommandFailure(
                    "this version can't read that passkey, so it can't rename it; use a later one",
                    status: .notPermitted
                )
            }
            try await vault.rename(passkey.record, name: name, displayName: displayName ?? user.displayName)
            report("the passkey for \(PasskeyText.site(passkey)) is shown as \(SafeText(quoting: name)) from now on")
            guard json, let renamed = try await vault.summaries().first(where: { $0.record == passkey.record }) else {
                return ""
            }
            return PasskeyJSON.summary(renamed).description
        }
    }
}

/// `passkeys delete WHICH`: deletes a passkey permanently on every device.
struct PasskeysDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a passkey permanently on every device.",
        discussion: """
            The site keeps its part of the passkey: remove it there, too. First make sure that you can sign in there \
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
        let (json, which, yes) = (output.json, which, yes)
        try await output.run("Delete a passkey of this vault") { vault, prompts in
            let passkey = try PasskeyChoice.find(which, in: try await vault.summaries())
            if !yes { try await prompts.confirm(Self.question(passkey), ok: "Delete") }
            try await vault.delete(passkey.record)
            report("deleted the passkey for \(PasskeyText.site(passkey)); remove it at the site, too")
            return json ? PasskeyJSON.summary(passkey).description : ""
        }
    }

    /// Returns the question.
    ///
    /// As in the prompts of a scan, site and account each have a line of their own.
    private static func question(_ passkey: PasskeySummary) -> String {
        let site = passkey.relyingParty?.text ?? "A passkey that this version can't read"
        return
            "\(site)\n\nDelete the passkey of this account permanently?\n\(PasskeyText.account(passkey))\nIt is deleted on "
            + "every device and cannot be restored. Without another way to sign in you lose the account.\n\n"
            + "ID \(passkey.record)"
    }
}
