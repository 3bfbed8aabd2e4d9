// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent

/// The command `hybrid-key ssh-keys`, which manages the remembered keys.
struct SSHKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh-keys",
        abstract: "List, restrict, forget, export and import SSH keys.",
        subcommands: [List.self, Restrict.self, Forget.self, Export.self, Import.self, AllowedSigners.self],
        defaultSubcommand: List.self
    )

    fileprivate static func store() throws -> SSHKeyStore { SSHKeyStore(in: try KeySettings.stateFolder()) }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the public keys, as for ~/.ssh/authorized_keys.",
            discussion: "With --fingerprints: fingerprint, passkey and name of each key."
        )

        @Flag(help: "Print fingerprints instead.")
        var fingerprints = false

        func run() async throws {
            let keys = try SSHKeysCommand.store().keys()
            if keys.isEmpty { HybridKey.report("there are no SSH keys; create one: hybrid-key ssh-keygen") }
            for key in keys {
                let line =
                    fingerprints
                    ? "\(key.publicKey.fingerprint) \(key.relyingPartyID) \(key.comment)"
                    : key.publicKey.authorizedKeysLine(comment: key.comment)
                try StandardOutput.writeLine(line)
            }
        }
    }

    struct Restrict: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change what a key may sign, or print it.",
            discussion: """
                Without options, prints the restrictions, one on each line. --destination replaces all previous \
                destinations. A key with destinations signs proved logins only, no messages.
                """
        )

        @Argument(help: ArgumentHelp("The fingerprint, or the name.", valueName: "key"))
        var key: String

        @OptionGroup
        var limits: DestinationOptions

        @Flag(help: "Remove all destinations: the key may log in anywhere.")
        var anyDestination = false

        @Flag(inversion: .prefixedNo, help: "Let a forwarded agent sign messages, such as git commits on another host.")
        var allowForwardedMessages: Bool?

        func validate() throws {
            guard limits.destination.isEmpty || !anyDestination else {
                throw ValidationError("Give --destination or --any-destination, not both.")
            }
        }

        func run() async throws {
            let store = try SSHKeysCommand.store()
            let destinations = try limits.destinations()
            guard destinations != nil || anyDestination || allowForwardedMessages != nil else {
                for restriction in try store.key(key).restrictions { try StandardOutput.writeLine(restriction) }
                return
            }
            let changed = try store.restrict(key) { old in
                old.restricted(
                    allowsForwardedMessages: allowForwardedMessages ?? old.allowsForwardedMessages,
                    destinations: anyDestination ? nil : destinations ?? old.destinations
                )
            }
            let hosts = changed.destinations.map { Set($0.map(\.host)).count }
            let limit = hosts.map { "only to \($0) host \($0 == 1 ? "key" : "keys")" } ?? "anywhere"
            HybridKey.report("\(SafeText(quoting: "\(changed.comment)")) may log in \(limit)")
        }
    }

    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget a key; its passkey stays on the phone.",
            discussion: "Delete the passkey on the phone, too, and the public key on your servers."
        )

        @Argument(help: ArgumentHelp("The fingerprint, or the name.", valueName: "key"))
        var key: String

        func run() async throws {
            let removed = try SSHKeysCommand.store().remove(key)
            HybridKey.report(
                "forgot \(SafeText(quoting: "\(removed.comment)")); its passkey for \(removed.relyingPartyID) is still on "
                    + "the phone"
            )
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print all keys for import on another computer.",
            discussion: "The output contains no secrets: signatures need the phone."
        )

        func run() async throws { try StandardOutput.write(SSHKeyList.text(try SSHKeysCommand.store().keys())) }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add the keys that export printed on another computer."
        )

        @Argument(help: ArgumentHelp("The output of export; a dash reads standard input.", valueName: "file|-"))
        var file: String

        func run() async throws {
            let bytes: [UInt8]
            do throws(FileReadError) {
                bytes = try readWholeFileOrStandardInput(file, atMost: SSHKeyList.maximumSize)
            } catch {
                throw CommandFailure("\(file): \(error.sentence)", status: .noInput)
            }
            let keys: [StoredSSHKey]
            do throws(KeyListError) {
                keys = try SSHKeyList.keys(in: bytes)
            } catch {
                throw CommandFailure("\(file), line \(error.line): not the output of export", status: .dataError)
            }
            for key in try SSHKeysCommand.store().add(keys) {
                HybridKey.report(
                    "kept the limits of \(SafeText(quoting: "\(key.comment)")), which are stricter here; change them with "
                        + "hybrid-key ssh-keys restrict"
                )
            }
            HybridKey.report("added \(keys.count) \(keys.count == 1 ? "key" : "keys")")
        }
    }

    struct AllowedSigners: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "allowed-signers",
            abstract: "Print the keys for git's gpg.ssh.allowedSignersFile."
        )

        @Option(help: ArgumentHelp("The signer, as in the commits.", valueName: "email"))
        var principal: String

        @Option(help: ArgumentHelp("The purpose of the signatures.", valueName: "name"))
        var namespace = "git"

        func run() async throws {
            guard let principal = SignerPrincipal(principal) else {
                throw CommandFailure("--principal takes an e-mail address", status: .usage)
            }
            guard let namespace = SignatureNamespace(namespace) else {
                throw CommandFailure("--namespace takes a name such as git or file", status: .usage)
            }
            for key in try SSHKeysCommand.store().keys() {
                try StandardOutput.writeLine(
                    key.publicKey.allowedSignersLine(principal: principal, namespace: namespace)
                )
            }
        }
    }
}
