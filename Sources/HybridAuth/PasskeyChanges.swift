// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// `passkeys rename WHICH NAME`: another name for the account, here and in no other place.
struct PasskeysRename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Change the account's name that a passkey is shown with.",
        discussion: """
            The site is not told, and keeps the account's ID. When it makes a passkey in place of this one, that has \
            the site's name again.

            \(PasskeyChoice.explanation)
            """
    )

    @OptionGroup var output: PasskeyOutput

    @Argument(help: PasskeyChoice.help)
    var which: String

    @Argument(help: "The account's new name.")
    var name: String

    @Option(help: ArgumentHelp("A new display name, too; else it stays.", valueName: "name"))
    var displayName: String?

    func validate() throws {
        guard !name.isEmpty else { throw ValidationError("A name has at least one character.") }
        guard ([name] + [displayName].compactMap(\.self)).allSatisfy({ $0.utf8.count <= EntityName.maximumBytes })
        else { throw ValidationError("A name has at most \(EntityName.maximumBytes) bytes.") }
    }

    func run() async throws {
        let (json, which, name, displayName) = (output.json, which, name, displayName)
        try await output.run("Rename a passkey of this vault") { vault, _ in
            let entry = try PasskeyChoice.find(which, in: try await vault.entries())
            guard let user = entry.user else {
                throw CommandFailure(
                    "this version can't read that passkey, so it can't rename it; use a later one",
                    status: .notPermitted
                )
            }
            try await vault.rename(entry.record, name: name, displayName: displayName ?? user.displayName)
            say("the passkey for \(PasskeyText.site(entry)) is shown as \(SafeText(quoting: name)) from now on")
            guard json, let renamed = try await vault.entries().first(where: { $0.record == entry.record }) else {
                return ""
            }
            return PasskeyJSON.plain(renamed).description
        }
    }
}

/// `passkeys delete WHICH`: for ever, on every device.
struct PasskeysDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a passkey for ever, on every device.",
        discussion: """
            The site still knows its part of the passkey: remove it there, too, and make sure first that you can sign \
            in there without it.

            \(PasskeyChoice.explanation)
            """
    )

    @OptionGroup var output: PasskeyOutput

    @Argument(help: PasskeyChoice.help)
    var which: String

    @Flag(help: "Don't ask whether; the PIN is asked for all the same.")
    var yes = false

    func run() async throws {
        let (json, which, yes) = (output.json, which, yes)
        try await output.run("Delete a passkey of this vault") { vault, keeper in
            let entry = try PasskeyChoice.find(which, in: try await vault.entries())
            if !yes { try await keeper.confirm(Self.question(entry), ok: "Delete") }
            try await vault.delete(entry.record)
            say("deleted the passkey for \(PasskeyText.site(entry)); remove it at the site, too")
            return json ? PasskeyJSON.plain(entry).description : ""
        }
    }

    /// The site alone on the first line, the account alone on its own, as in the questions of a scan.
    private static func question(_ entry: VaultEntry) -> String {
        let site = entry.relyingParty?.text ?? "A passkey that this version can't read"
        return
            "\(site)\n\nDelete the passkey of this account for ever?\n\(PasskeyText.account(entry))\nIt goes on every "
            + "device, and nothing brings it back. Without another way to sign in you lose the account.\n\n"
            + "ID \(entry.record)"
    }
}
