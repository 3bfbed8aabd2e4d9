// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridVault

/// `vault init`: makes a vault, or gives a copied one a PIN on this device.
struct VaultInit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a vault, or open a copied one on this device.",
        discussion: """
            Where there is no vault, a new one is made under a new PIN. Where one was copied to, its passphrase or \
            recovery code is asked for, and it gets a PIN on this device.
            """
    )

    @OptionGroup var options: VaultOptions

    func run() async throws {
        try await administering {
            let (directory, state) = (try options.place.directory(), try options.place.stateDirectory())
            let keeper = try options.keeper()
            let status: VaultStatus?
            do throws(VaultError) {
                status = try Vault.status(directory: directory, stateDirectory: state)
            } catch .doesNotExist {
                status = nil
            }
            guard let status else {
                let pin = try await keeper.askNewPIN(for: directory)
                let isTest = SystemBusVariable.namesAnotherBus
                _ = try await Vault.create(directory: directory, stateDirectory: state, pin: pin, test: isTest)
                if isTest { say("VIRTUAL RADIO: scan uses this vault only under one") }
                say("made a new vault at \(directory)")
                return say(VaultStatusCommand.opensNowhereElse)
            }
            guard !status.hasPIN else { throw VaultError.hasPINHere(path: directory) }
            guard status.opensElsewhere else { throw VaultError.noSuchSlot }
            let secret = try await keeper.askSecret(for: directory, "Open this vault on this device")
            let pin = try await keeper.askNewPIN(for: directory)
            try await keeper.confirmingForgetting { forgetting in
                _ = try await Vault.join(
                    directory: directory,
                    stateDirectory: state,
                    secret: secret,
                    pin: pin,
                    forgettingSeen: forgetting
                )
            }
            say("the vault at \(directory) has a PIN on this device now")
        }
    }
}

/// Whether a vault that is made now is one for tests.
///
/// It only decides which kind is made. Which kind may sign is decided by the bus that really answers.
enum SystemBusVariable {
    private static let paths = ["/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"]

    /// Whether the variable leads away from the system's own bus.
    static var namesAnotherBus: Bool {
        guard let value = getenv("DBUS_SYSTEM_BUS_ADDRESS").map({ String(cString: $0) }), !value.isEmpty else {
            return false
        }
        return !paths.contains { value == "unix:path=" + $0 }
    }
}

/// `vault change-pin`: another PIN on this device.
struct VaultChangePIN: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-pin",
        abstract: "Choose another PIN for this device."
    )

    @OptionGroup var options: VaultOptions

    @Flag(help: "Ask for the passphrase or recovery code in place of the PIN.")
    var forgotten = false

    func run() async throws {
        try await administering {
            let keeper = try options.keeper()
            if forgotten {
                // The local state is not looked at: this is how it is mended.
                let (directory, state) = (try options.place.directory(), try options.place.stateDirectory())
                _ = try Vault.isTest(directory: directory, stateDirectory: state)
                let secret = try await keeper.askSecret(for: directory, "Choose another PIN for this vault")
                let pin = try await keeper.askNewPIN(for: directory)
                try await keeper.confirmingForgetting { forgetting in
                    _ = try await Vault.join(
                        directory: directory,
                        stateDirectory: state,
                        secret: secret,
                        pin: pin,
                        forgettingSeen: forgetting
                    )
                }
            } else {
                let vault = try options.place.open()
                let opened = try await keeper.open(vault, to: "Choose another PIN for this vault").vault
                try await opened.changePIN(to: try await keeper.askNewPIN(for: vault.path))
                await opened.lock()
            }
            say("the PIN was changed; it is this device's only")
        }
    }
}

/// `vault add-passphrase`: a passphrase that opens every copy of the vault.
struct VaultAddPassphrase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-passphrase",
        abstract: "Add a passphrase that opens the vault anywhere."
    )

    @OptionGroup var options: VaultOptions

    @Flag(help: "Delete the passphrases before.")
    var replace = false

    func run() async throws {
        try await administering {
            let vault = try options.place.open()
            let keeper = try options.keeper()
            let opened = try await keeper.open(vault, to: "Add a passphrase to this vault").vault
            let passphrase = try await keeper.askNewPassphrase(for: vault.path)
            try await opened.addPassphrase(passphrase, replacing: replace)
            await opened.lock()
            say("the passphrase was added, worth about \(passphrase.strength) bits")
            if replace { say(VaultAddPassphrase.oldCopies) }
        }
    }

    static let oldCopies =
        "old copies of the vault still open with what they opened with; hybrid-auth vault rekey keeps what comes later "
        + "from whoever has them"
}

/// `vault recovery-code`: a generated code on paper.
struct VaultRecoveryCode: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery-code",
        abstract: "Make a recovery code that opens the vault anywhere."
    )

    @OptionGroup var options: VaultOptions

    @Flag(help: "Delete the recovery codes before.")
    var replace = false

    func run() async throws {
        try await administering {
            let vault = try options.place.open()
            let keeper = try options.keeper()
            let opened = try await keeper.open(vault, to: "Make a recovery code for this vault").vault
            let code = RecoveryCode.random()
            try await keeper.show(code, for: vault.path)
            try await opened.addRecoveryCode(code, replacing: replace)
            await opened.lock()
            say("the recovery code opens the vault from now on")
            if replace { say(VaultAddPassphrase.oldCopies) }
        }
    }
}

/// `vault rekey`: another vault key, and everything sealed anew.
struct VaultRekey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Give the vault another key and seal everything anew.",
        discussion: """
            For when somebody may know the passphrase or have the recovery code. A passphrase is asked for and a \
            recovery code is made where the vault had one. Other devices open the vault with these from then on. \
            Whoever could read old copies has read the passkeys in them: replace those at their sites.
            """
    )

    @OptionGroup var options: VaultOptions

    func run() async throws {
        try await administering {
            let vault = try options.place.open()
            let keeper = try options.keeper()
            let (opened, pin) = try await keeper.open(vault, to: "Give this vault another key")
            let slots = try await opened.portableSlots()
            let passphrase = slots.passphrases > 0 ? try await keeper.askNewPassphrase(for: vault.path) : nil
            let code = slots.recoveryCodes > 0 ? RecoveryCode.random() : nil
            let opensElsewhere = passphrase != nil || code != nil
            if !opensElsewhere {
                // It may have had slots that a sync server withholds; then they are lost by this.
                try await keeper.confirm(
                    "This vault has neither passphrase nor recovery code now. Under another key it opens on this device "
                        + "only; all others are shut out.",
                    ok: "Shut them out"
                )
            }
            if let code { try await keeper.show(code, for: vault.path) }
            try await opened.rekey(pin: pin, passphrase: passphrase, recoveryCode: code)
            await opened.lock()
            if opensElsewhere {
                say("everything is sealed under another key; other devices need the new passphrase or recovery code")
            } else {
                say("everything is sealed under another key; other devices are shut out")
                say(VaultStatusCommand.opensNowhereElse)
            }
            say(VaultAddPassphrase.oldCopies)
        }
    }
}

/// `vault accept`: takes a rolled-back vault as it is.
struct VaultAccept: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Take a rolled-back vault as it is.",
        discussion: """
            Gives up what is missing and takes what is older; what was deleted stays deleted. What other devices \
            wrote under a vault key that was replaced is taken over.
            """
    )

    @OptionGroup var options: VaultOptions

    func run() async throws {
        try await administering {
            let vault = try options.place.open()
            let keeper = try options.keeper()
            let opened = try await keeper.open(vault, to: "Take this vault as it is", acceptingRecords: true).vault
            let difference = try await opened.difference()
            guard !difference.isEmpty else { return say("there is nothing to accept; the vault is as it was") }
            try await keeper.confirm("Take this vault as it is?\n\n\(Self.words(difference))", ok: "Accept")
            say("accepted: \(Self.words(try await opened.accept(expecting: difference)))")
            await opened.lock()
        }
    }

    static func words(_ difference: VaultDifference) -> String {
        [
            (difference.missing, "missing, given up"), (difference.older, "older than before"),
            (difference.undeleted, "deleted before, and deleted again"),
            (difference.underReplacedKey, "made or changed under a replaced key, taken over"),
            (difference.deletedUnderReplacedKey, "deleted under a replaced key, lost for ever"),
        ]
        .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: "; ")
    }
}
