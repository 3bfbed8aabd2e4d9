// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAge
internal import HybridCTAP
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSecrets

/// The command `hybrid-key secret add-phone`.
struct SecretAddPhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-phone",
        abstract: "Let another phone open a key, too.",
        discussion: """
            A phone that opens the key already is asked first. Then the new phone creates a passkey and opens the key with it.
            """
    )

    @OptionGroup
    var name: SecretNameOption
    @OptionGroup
    var phone: SecretPhoneOptions

    func run() async throws {
        let (store, key) = try name.load()
        HybridKey.report("1. use a phone that opens the key; 2. and 3. use the new phone")
        let added = try await SealedKeyCreation(try phone.phone()).addPhone(to: key)
        try store.replace(key, with: added, as: name.name)
        HybridKey.report(
            "\(added.phones.count) phones open the key now; copy \(store.path(of: name.name)) next to your backups again"
        )
    }
}

/// The command `hybrid-key secret check`.
struct SecretCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Open a key with a phone, to see that it works."
    )

    @OptionGroup
    var name: SecretNameOption
    @OptionGroup
    var phone: SecretPhoneOptions

    func run() async throws {
        let (_, key) = try name.load()
        let opened = try await phone.phone().open(key)
        HybridKey.report("the phone opens the key \"\(name.name)\" (\(opened.recipient))")
    }
}

/// The command `hybrid-key secret list`.
struct SecretListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the keys.")

    @Flag(help: "Print one JSON object for each key.")
    var json = false

    func run() throws {
        let store = try SecretStore.ofUser()
        let names = try store.names()
        var failure: CommandFailure?
        for name in names {
            do throws(CommandFailure) {
                try StandardOutput.writeLine(line(name, try store.key(name)))
            } catch {
                HybridKey.report(error.sentence)
                failure = error
            }
        }
        if names.isEmpty { HybridKey.report("there are no keys; create one: hybrid-key secret create NAME") }
        if let failure { throw ExitCode(failure.status.rawValue) }
    }

    private func line(_ name: SecretName, _ key: SealedKey) -> String {
        let phones = key.phones.count
        guard json else { return "\(name)  \(key.recipient)  \(phones == 1 ? "1 phone" : "\(phones) phones")" }
        return JSONText.object([
            ("name", .string(name.text)), ("recipient", .string("\(key.recipient)")),
            ("rp_id", .string(key.relyingPartyID.text)), ("phones", .number(phones)),
        ]).description
    }
}

/// The command `hybrid-key secret recipient`.
struct SecretRecipientCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recipient",
        abstract: "Print age1…, to which anyone can encrypt."
    )

    @OptionGroup
    var name: SecretNameOption

    func run() throws { try StandardOutput.writeLine("\(name.load().key.recipient)") }
}

/// The command `hybrid-key secret identity`.
struct SecretIdentityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Print the identity for age -i."
    )

    @Flag(help: "Print AGE-PLUGIN-FIDO2PRF-1… for each phone, to encrypt to the passkey itself, as web pages do.")
    var passkey = false

    @OptionGroup
    var name: SecretNameOption

    func run() throws {
        let key = try name.load().key
        guard passkey else { return try StandardOutput.writeLine(key.text) }
        for phone in key.phones {
            let identity = PasskeyIdentity(credential: phone, relyingPartyID: key.relyingPartyID)
            try StandardOutput.writeLine(identity.text)
        }
    }
}

/// The command `hybrid-key secret sealed`.
struct SecretSealedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealed",
        abstract: "Print the sealed key, an age file that other recipients open, too."
    )

    @OptionGroup
    var name: SecretNameOption

    func run() throws {
        let key = try name.load().key
        guard isatty(STDOUT_FILENO) != 1 else {
            throw CommandFailure("the file is binary; redirect the output", status: .usage)
        }
        guard writeAll(key.file.encoded, to: STDOUT_FILENO) else { throw CommandFailure.outputNotWritten }
    }
}

/// The command `hybrid-key secret remove`.
struct SecretRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a key from this computer.",
        discussion: "Without a copy of its file or of the key, nothing that was encrypted to it opens again."
    )

    @Flag(help: "Don't ask.")
    var force = false

    @OptionGroup
    var name: SecretNameOption

    func run() async throws {
        let store = try SecretStore.ofUser()
        // A damaged file can be removed, too.
        guard try store.names().contains(name.name) else {
            _ = try store.key(name.name)
            return
        }
        if !force {
            let question = "Without a copy, files for the key \(name.name) are lost. Remove it? (yes or no) "
            guard let terminal = ControllingTerminal() else {
                throw CommandFailure("there is no terminal for the question; use --force", status: .usage)
            }
            guard await terminal.isConfirmed(question) else {
                throw CommandFailure("nothing is removed", status: .notPermitted)
            }
        }
        try store.remove(name.name)
        HybridKey.report("removed; the passkey \"\(name.name) (encryption key)\" is still on the phone")
    }
}
