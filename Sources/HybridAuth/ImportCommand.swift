// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// `import FILE`: the passkeys of another program.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Add the passkeys of another program's export.",
        discussion: """
            The file must be in the Credential Exchange Format of the FIDO Alliance. Passwords and everything else \
            that is no passkey is left out and named. What is in the vault already stays as it is.
            """
    )

    @OptionGroup var options: VaultOptions

    @Argument(help: ArgumentHelp("The export.", valueName: "file"))
    var file: String

    func run() async throws {
        let (options, file) = (options, file)
        try await administering {
            let document = try await ExchangeFile.read(file)
            for (what, count) in document.skipped { say("left out: \(Self.words(what, count))") }
            for (what, count) in document.incomplete {
                say("without \(what), which this program can't keep: \(PasskeyText.count(count))")
            }
            guard document.count > 0 else {
                let none = "there is no passkey in \(file) that can be kept here"
                let hasPasskeys = document.skipped.contains { what, _ in
                    if case .otherType = what { false } else { true }
                }
                if hasPasskeys { throw CommandFailure(none, status: .dataError) }
                return say(none)
            }
            let vault = try options.place.open()
            let keeper = try options.keeper()
            let purpose = "Add \(PasskeyText.count(document.count)) of a file to this vault"
            let opened = try await keeper.open(vault, to: purpose).vault
            let result = try await opened.add(document)
            await opened.lock()
            if result.present > 0 { say("\(PasskeyText.count(result.present)) left as they are here already") }
            if result.different > 0 {
                say("\(PasskeyText.count(result.different)) here with another key; left as it is here")
            }
            let added = "added \(PasskeyText.count(result.added))"
            // Whoever deletes the file now would lose what is in it alone.
            guard document.skipped.isEmpty, document.incomplete.isEmpty, result.different == 0 else {
                guard result.added + result.present > 0 else {
                    throw CommandFailure("\(added): none of \(file) could be kept", status: .dataError)
                }
                return say("\(added), not all that is in \(file); its keys are in the clear")
            }
            say("\(added); delete \(file) once your other devices show them, too: its keys are in the clear")
        }
    }

    private static func words(_ what: SkippedCredential, _ count: Int) -> String {
        switch what {
        case .otherType(""): "\(count) of other types"
        case .otherType(let type): "\(count) of type \(SafeText(quoting: type))"
        case .otherAlgorithm: "\(PasskeyText.count(count)) with a key that this program can't use (it has ES256)"
        case .malformed(let member):
            "\(PasskeyText.count(count)) whose \(member) is missing or not what the format has there"
        case .tooLarge: "\(PasskeyText.count(count)) longer than a record of the vault"
        }
    }
}
