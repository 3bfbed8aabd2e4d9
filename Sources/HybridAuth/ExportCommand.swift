// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// `export FILE`: every passkey, with its key, for another program.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all passkeys to one new file for another program, keys in the clear.",
        discussion: """
            The file is in the Credential Exchange Format of the FIDO Alliance. Nothing protects it: whoever reads it \
            can sign in as you. Delete it as soon as the other program has it. For a copy to keep, use vault backup.
            """
    )

    @OptionGroup var options: VaultOptions

    @Argument(help: ArgumentHelp("The file to write; it must not exist.", valueName: "file"))
    var file: String

    @Flag(help: "Don't ask whether; the PIN is asked for all the same.")
    var yes = false

    func run() async throws {
        let (options, file, yes) = (options, file, yes)
        try await administering {
            let vault = try options.place.open()
            try vault.checkExport(to: file)
            let keeper = try options.keeper()
            let opened = try await keeper.open(vault, to: "Write all passkeys of this vault to a file").vault
            let entries = try await opened.entries()
            guard !entries.isEmpty else { return say("there is no passkey to write; nothing was written") }
            let count = entries.count { $0.isUsable }
            guard count > 0 else {
                throw CommandFailure(
                    "the vault has \(PasskeyText.count(entries.count)), and none that this version can use; nothing "
                        + "was written, use a later version",
                    status: .dataError
                )
            }
            if !yes {
                try await keeper.confirm(
                    "Write \(PasskeyText.count(count)) to this file, with their keys in the clear?\n\n"
                        + "\(SafeText(quoting: file))\n\nWhoever reads the file can sign in as you, everywhere and for "
                        + "ever. Delete it as soon as the other program has it.",
                    ok: "Write"
                )
            }
            let result = try await opened.exportPasskeys(to: file)
            await opened.lock()
            if result.unusable > 0 {
                say("left out: \(PasskeyText.count(result.unusable)) that this version can't use")
            }
            say("wrote \(PasskeyText.count(result.exported)) to \(file), with keys in the clear; delete it soon")
        }
    }
}
