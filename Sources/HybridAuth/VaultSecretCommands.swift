// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridVault

/// `vault add-passphrase`: adds a passphrase that opens every copy of the vault.
struct VaultAddPassphrase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-passphrase",
        abstract: "Add a passphrase that opens the vault on any device."
    )

    static let oldCopies =
        "old copies of the vault still open with their old secrets; hybrid-auth vault rekey protects new passkeys from "
        + "those who have such a copy"

    @OptionGroup var options: VaultOptions

    @Flag(help: "Delete the existing passphrases.")
    var replace = false

    func run() async throws {
        try await runVaultCommand {
            try await options.withUnlockedVault(to: "Add a passphrase to this vault") { session in
                let passphrase = try await session.prompts.askNewPassphrase(for: session.path)
                try await session.vault.addPassphrase(passphrase, replacing: replace)
                report("the passphrase was added, worth about \(passphrase.strength) bits")
                if replace { report(Self.oldCopies) }
            }
        }
    }
}

/// `vault recovery-code`: adds a generated recovery code to write on paper.
struct VaultRecoveryCode: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery-code",
        abstract: "Create a recovery code that opens the vault on any device."
    )

    @OptionGroup var options: VaultOptions

    @Flag(help: "Delete the existing recovery codes.")
    var replace = false

    func run() async throws {
        try await runVaultCommand {
            try await options.withUnlockedVault(to: "Make a recovery code for this vault") { session in
                let code = RecoveryCode.random()
                try await session.prompts.show(code, for: session.path)
                try await session.vault.addRecoveryCode(code, replacing: replace)
                report("the recovery code opens the vault from now on")
                if replace { report(VaultAddPassphrase.oldCopies) }
            }
        }
    }
}

/// `vault rekey`: replaces the vault key and seals all content again.
struct VaultRekey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Replace the vault key and encrypt everything again.",
        discussion: """
            Use this if the passphrase or recovery code may be known to others. If the vault has a passphrase, a new \
            one is asked for; if it has a recovery code, a new one is created. Other devices then need these to open \
            the vault. Anyone who could read an old copy has the passkeys in it: replace those at their sites.
            """
    )

    @OptionGroup var options: VaultOptions

    func run() async throws {
        try await runVaultCommand {
            try await options.withUnlockedVault(to: "Give this vault another key") { session in
                let (vault, prompts) = (session.vault, session.prompts)
                let slots = try await vault.portableSlots()
                let passphrase = slots.passphrases > 0 ? try await prompts.askNewPassphrase(for: session.path) : nil
                let code = slots.recoveryCodes > 0 ? RecoveryCode.random() : nil
                let opensElsewhere = passphrase != nil || code != nil
                if !opensElsewhere {
                    // A sync server may withhold slots; the rekey would make those useless.
                    try await prompts.confirm(
                        "This vault has neither passphrase nor recovery code now. With another key it opens on this "
                            + "device only; all others are locked out.",
                        ok: "Lock them out"
                    )
                }
                if let code { try await prompts.show(code, for: session.path) }
                try await vault.rekey(pin: session.pin, passphrase: passphrase, recoveryCode: code)
                if opensElsewhere {
                    report(
                        "everything is encrypted with a new key; other devices need the new passphrase or recovery code"
                    )
                } else {
                    report("everything is encrypted with a new key; other devices are locked out")
                    report(VaultStatusCommand.opensNowhereElse)
                }
                report(VaultAddPassphrase.oldCopies)
            }
        }
    }
}
