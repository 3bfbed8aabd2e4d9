// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridVault

/// `vault forget`: lets a new vault be created where the user has deleted one.
struct VaultForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forget a vault that you deleted, so that a new one can take its place.",
        discussion: """
            Without this, a missing vault counts as an unmounted disk or an unfinished sync, and no other one is created \
            at its path. Nothing is deleted: if the vault returns before a new one is there, it opens as before.
            """
    )

    @OptionGroup var options: VaultLocationOptions

    func run() async throws {
        let (id, obstacle) = try options.opening(Vault.forget)
        let next = obstacle?.sentence ?? "the next scan creates a new one there"
        report("forgot the vault \(id) at \(try options.location().directory); \(next)")
    }
}
