// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// `export FILE`: writes every passkey with its private key for another program.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all passkeys to one new file for another program, keys in the clear.",
        discussion: """
            The file is in the Credential Exchange Format of the FIDO Alliance. It is not encrypted: anyone who reads \
            it can sign in as you. Delete it as soon as the other program has imported it. For a copy to keep, use \
            vault backup.
            """
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    @Argument(help: ArgumentHelp("The file to write; it must not exist.", valueName: "file"))
    var file: String

    @Flag(help: "Skip the confirmation; the PIN is still required.")
    var yes = false

    func run() async throws {
        // With --yes, this is the only prompt.
        try await options.runUnlocked(to: .export, check: { try $0.checkExport(to: file) }, export)
    }

    private func export(_ unlocked: UnlockedVaultContext) async throws {
        let passkeys = try await unlocked.vault.summaries()
        guard !passkeys.isEmpty else {
            return try output.show(
                [("file", .null), ("written", .number(0))],
                "there is no passkey to write; nothing was written"
            )
        }
        let count = passkeys.count { $0.isUsable }
        guard count > 0 else {
            throw CommandFailure(
                "the vault has \(PasskeyText.count(passkeys.count)), and none that this version can use; nothing was "
                    + "written; use a later version",
                status: .dataError
            )
        }
        if !yes {
            try await unlocked.prompts.confirm(
                "Write \(PasskeyText.count(count)) to this file, with their keys in the clear?\n\n"
                    + "\(SafeText(quoting: file))\n\nAnyone who reads the file can sign in as you. Delete it as soon as "
                    + "the other program has imported it.",
                ok: "Write"
            )
        }
        let result = try await unlocked.vault.exportPasskeys(to: file)
        try output.show(
            [
                ("file", .string(file)), ("written", .number(result.exported)), ("leftOut", .number(result.unusable)),
                ("private", .boolean(result.isPrivate)),
            ],
            result.unusable > 0
                ? "left out: \(PasskeyText.count(result.unusable)) that this version can't use" : nil,
            result.isPrivate
                ? nil
                : "other users can read \(file), because its drive keeps no permissions; move it to another drive",
            "wrote \(PasskeyText.count(result.exported)) to \(file), with keys in the clear; delete it soon"
        )
    }
}
