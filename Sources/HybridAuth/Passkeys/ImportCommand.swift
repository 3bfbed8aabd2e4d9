// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridCredentialExchange
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// `import FILE`: adds the passkeys that another program has exported.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Add the passkeys of another program's export.",
        discussion: """
            The file is a .json file in the Credential Exchange Format of the FIDO Alliance or Bitwarden's unencrypted \
            export, a .zip archive with such a file, or a .passkey file of KeePassXC. Passwords and other items that are not passkeys are left out \
            and named. Existing passkeys in the vault do not change. The sites in the file are listed before the PIN is \
            asked for, and imported passkeys are offered after all others.
            """
    )

    @OptionGroup var options: VaultOptions

    @Flag(help: "Two JSON objects on standard output: the file's contents before the PIN, and the result.")
    var json = false

    @Argument(help: ArgumentHelp("The export.", valueName: "file"))
    var file: String

    func run() async throws {
        let document = try await untilSignal { try await ExchangeFile.read(file) }
        if json { try StandardOutput.writeLine(ImportJSON.contents(document).description) } else { describe(document) }
        guard document.count > 0 else {
            let none = "there is no passkey in \(file) that can be kept here"
            guard document.skippedPasskeys.isEmpty else { throw CommandFailure(none, status: .dataError) }
            return json ? () : report(none)
        }
        let sites = document.sites
        if !json { for (site, count) in sites { report("in the file: \(PasskeyText.count(count)) for \(site)") } }
        let text = "Add \(PasskeyText.count(document.count)) of a file to this vault, for\n"
        try await options.runUnlocked(to: .importing, saying: text + Self.list(sites.map(\.site))) { unlocked in
            try summarize(try await unlocked.vault.add(document), of: document)
        }
    }

    /// Writes a line for everything in the file that is left out.
    private func describe(_ document: ExchangeFile) {
        for (what, count) in document.skipped {
            if let type = what.otherType { report("left out: \(Self.words(type, count))") }
        }
        Self.list(document.skippedPasskeys, "left out") { "\(Self.words($0.passkey)) \($0.why.reason)" }
        for (what, count) in document.incomplete {
            report("without \(what), which this program can't keep: \(PasskeyText.count(count))")
        }
    }

    private func summarize(_ result: PasskeyImport, of document: ExchangeFile) throws {
        let isComplete = document.skipped.isEmpty && document.incomplete.isEmpty && result.different.isEmpty
        if json {
            let isWhole = isComplete && document.skippedPasskeys.isEmpty
            try StandardOutput.writeLine(ImportJSON.result(result, isComplete: isWhole).description)
        } else {
            Self.list(result.present, "here already") { Self.words($0) }
            Self.list(result.different, "skipped: a different key for it is already here") { Self.words($0) }
        }
        let left = document.skippedPasskeys.count
        var counts = ["added \(PasskeyText.count(result.added))"]
        if !result.present.isEmpty { counts.append("\(result.present.count) here already") }
        if !result.different.isEmpty { counts.append("\(result.different.count) here with a different key") }
        if left > 0 { counts.append("\(left) left out") }
        let sentence = counts.joined(separator: ", ")
        // A user who deletes the file now would lose the passkeys that exist only in it.
        guard isComplete else {
            guard result.added + result.present.count > 0 else {
                throw CommandFailure("\(sentence): none of \(file) could be kept", status: .dataError)
            }
            return json ? () : report("\(sentence): not everything in \(file); its keys are in the clear")
        }
        if json { return }
        report("\(sentence); delete \(file) once your other devices show them, too: its keys are in the clear")
    }

    /// Maximum number of lines of one kind; a hostile file could fill the terminal with more.
    private static let maximumItems = 1000

    /// Writes one line for each passkey, up to a limit.
    private static func list<Item>(_ items: [Item], _ what: String, _ words: (Item) -> String) {
        for item in items.prefix(maximumItems) { report("\(what): \(words(item))") }
        if items.count > maximumItems { report("\(what): \(items.count - maximumItems) more passkeys") }
    }

    private static func words(_ passkey: PasskeyLabel) -> String {
        let site = passkey.site.map { "a passkey for \(SafeText(quoting: $0))" } ?? "a passkey without a site"
        return passkey.account.map { "\(site) (account \(SafeText(quoting: $0)))" } ?? site
    }

    /// Maximum length of the sites in the prompt, which with their surroundings fits a line of pinentry's protocol.
    private static let maximumBytes = 400
    private static let maximumLines = 10

    /// Returns as many sites as fit the prompt, one on each line, and the number of the others.
    private static func list(_ sites: [RelyingPartyID]) -> String {
        var (lines, bytes) = ([String](), 0)
        for site in sites {
            bytes += site.text.utf8.count + 1
            guard bytes <= maximumBytes, lines.count < maximumLines else { break }
            lines.append(site.text)
        }
        if lines.count < sites.count {
            lines.append("and \(sites.count - lines.count) more")
        }
        return lines.joined(separator: "\n")
    }

    private static func words(_ type: String, _ count: Int) -> String {
        type.isEmpty ? "\(count) of other types" : "\(count) of type \(SafeText(quoting: type))"
    }
}
