// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
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
    @OptionGroup var output: ResultOutput

    @Flag(help: "Delete the existing passphrases.")
    var replace = false

    func run() async throws {
        try await options.runUnlocked(to: .addPassphrase) { unlocked in
            let passphrase = try await unlocked.prompts.askNewPassphrase(for: unlocked.path)
            try await unlocked.vault.addPassphrase(passphrase, replacing: replace)
            try output.show(
                [("passphrase", .string("added")), ("bits", .number(passphrase.strength))],
                "the passphrase was added, worth about \(passphrase.strength) bits",
                replace ? Self.oldCopies : nil
            )
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
    @OptionGroup var output: ResultOutput

    @Flag(help: "Delete the existing recovery codes.")
    var replace = false

    func run() async throws {
        try await options.runUnlocked(to: .recoveryCode) { unlocked in
            let code = RecoveryCode.random()
            try await unlocked.prompts.show(code, for: unlocked.path)
            try await unlocked.vault.addRecoveryCode(code, replacing: replace)
            try output.show(
                [("recoveryCode", .string("added")), ("replaced", .boolean(replace))],
                "the recovery code opens the vault from now on",
                replace ? VaultAddPassphrase.oldCopies : nil
            )
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
            the vault. They show the fingerprint of the key, which must be the same as here. Anyone who could read an \
            old copy has the passkeys in it: replace those at their sites.
            """
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    func run() async throws {
        try await options.runUnlocked(to: .rekey) { unlocked in
            let (vault, prompts) = (unlocked.vault, unlocked.prompts)
            let slots = try await vault.portableSlots()
            let passphrase = slots.passphrases > 0 ? try await prompts.askNewPassphrase(for: unlocked.path) : nil
            let code = slots.recoveryCodes > 0 ? RecoveryCode.random() : nil
            let opensElsewhere = passphrase != nil || code != nil
            if !opensElsewhere {
                // A sync server may withhold slots, which the rekey would make useless.
                try await prompts.confirm(
                    "This vault has neither passphrase nor recovery code now. With a new key it opens only on this "
                        + "device; all others are locked out.",
                    ok: "Lock them out"
                )
            }
            if let code { try await prompts.show(code, for: unlocked.path) }
            let new = try await vault.rekey(pin: unlocked.pin, passphrase: passphrase, recoveryCode: code)
            try output.show(
                [("key", .string("\(new)")), ("opensElsewhere", .boolean(opensElsewhere))],
                opensElsewhere
                    ? "everything is encrypted with a new key; other devices need the new passphrase or recovery code"
                    : "everything is encrypted with a new key; other devices are locked out",
                opensElsewhere
                    ? "continue there only if they show the new key as \(new)" : VaultStatusCommand.opensNowhereElse,
                VaultAddPassphrase.oldCopies
            )
        }
    }
}

/// `vault init`: creates a vault, or sets a PIN for a copied vault on this device.
struct VaultInitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a vault, or set up a copied one on this device.",
        discussion: """
            If there is no vault, a new one is created with a new PIN. If a vault was copied here, its passphrase or \
            recovery code is asked for, and it gets a PIN on this device.
            """
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    func run() async throws {
        try await untilSignal {
            let prompts = try options.prompts()
            try await prompts.closing { try await initialize(prompts) }
        }
    }

    private func initialize(_ prompts: VaultPrompts) async throws {
        let location = try options.location.location()
        let directory = location.directory
        let status: VaultStatus?
        do throws(VaultError) {
            status = try Vault.status(at: location)
        } catch {
            guard case .doesNotExist = error else { throw error }
            status = nil
        }
        guard let status else {
            let pin = try await prompts.askNewPIN(for: directory)
            let isTest = Self.namesAnotherBus
            _ = try await Vault.create(at: location, pin: pin, isTest: isTest)
            return try output.show(
                Self.members(directory, isNew: true, isTest: isTest),
                isTest ? "VIRTUAL RADIO: scan uses this vault only under one" : nil,
                "created a new vault at \(directory)",
                VaultStatusCommand.opensNowhereElse
            )
        }
        guard !status.hasPIN else { throw VaultError.hasPINHere(path: directory) }
        guard status.opensElsewhere else { throw VaultError.noSuchSlot }
        try await prompts.join(location, to: .join)
        try output.show(
            Self.members(directory, isNew: false, isTest: status.isTest),
            "the vault at \(directory) has a PIN on this device now"
        )
    }

    private static func members(_ path: String, isNew: Bool, isTest: Bool) -> [(String, JSONText)] {
        [("path", .string(path)), ("created", .boolean(isNew)), ("test", .boolean(isTest))]
    }

    /// True if `DBUS_SYSTEM_BUS_ADDRESS` names a bus other than the system's own.
    ///
    /// It determines the kind of vault that is created. The kind that may sign depends only on the bus that answers.
    private static var namesAnotherBus: Bool {
        let value = ProcessEnvironment.variables["DBUS_SYSTEM_BUS_ADDRESS"] ?? ""
        return !["", "unix:path=/run/dbus/system_bus_socket", "unix:path=/var/run/dbus/system_bus_socket"]
            .contains(value)
    }
}

/// `vault change-pin`: sets another PIN on this device.
struct VaultChangePIN: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-pin",
        abstract: "Choose a new PIN for this device."
    )

    private static let changed = "the PIN was changed; it is valid on this device only"
    private static let members: [(String, JSONText)] = [("pin", .string("changed"))]

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    @Flag(help: "Ask for the passphrase or recovery code instead of the PIN.")
    var forgotten = false

    func run() async throws {
        if forgotten {
            let prompts = try options.prompts()
            // The local state need not be readable, because this command also repairs it.
            let location = try options.location.location()
            _ = try Vault.isTest(at: location)
            let usedTPM = (try? Vault.status(at: location).pinProtection) == .tpm
            try await untilSignal {
                try await prompts.closing { try await prompts.join(location, to: .changePIN) }
                try output.show(
                    Self.members,
                    Self.changed,
                    usedTPM ? "the TPM does not protect the new PIN; hybrid-auth vault tpm enable changes that" : nil
                )
            }
        } else {
            try await options.runUnlocked(to: .changePIN) { unlocked in
                try await unlocked.vault.changePIN(to: unlocked.prompts.askNewPIN(for: unlocked.path))
                try output.show(Self.members, Self.changed)
            }
        }
    }
}
