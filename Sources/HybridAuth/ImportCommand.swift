// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// `import FILE`: adds the passkeys that another program has exported.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Add the passkeys of another program's export.",
        discussion: """
            The file must be in the Credential Exchange Format of the FIDO Alliance. Passwords and other items that \
            are not passkeys are left out and named. Existing passkeys in the vault do not change. The sites in the \
            file are listed before the PIN is asked for, and imported passkeys are offered after all others.
            """
    )

    @OptionGroup var options: VaultOptions

    @Argument(help: ArgumentHelp("The export.", valueName: "file"))
    var file: String

    func run() async throws {
        let document = try await untilSignal { try await ExchangeFile.read(file) }
        for (what, count) in document.skipped { report("left out: \(Self.words(what, count))") }
        for (what, count) in document.incomplete {
            report("without \(what), which this program can't keep: \(PasskeyText.count(count))")
        }
        guard document.count > 0 else {
            let none = "there is no passkey in \(file) that can be kept here"
            let hasPasskeys = document.skipped.contains { what, _ in what.otherType == nil }
            if hasPasskeys { throw CommandFailure(none, status: .dataError) }
            return report(none)
        }
        let sites = document.sites
        for (site, count) in sites { report("in the file: \(PasskeyText.count(count)) for \(site)") }
        let purpose = "Add \(PasskeyText.count(document.count)) of a file to this vault, for\n"
        try await options.runUnlocked(to: purpose + Self.list(sites.map(\.site))) { session in
            try summarize(try await session.vault.add(document), of: document)
        }
    }

    private func summarize(_ result: PasskeyImport, of document: ExchangeFile) throws {
        if result.present > 0 { report("\(PasskeyText.count(result.present)) left as they are here already") }
        if result.different > 0 {
            report("\(PasskeyText.count(result.different)) here with another key; left as it is here")
        }
        let added = "added \(PasskeyText.count(result.added))"
        // A user who deletes the file now would lose the passkeys that exist only in it.
        guard document.skipped.isEmpty, document.incomplete.isEmpty, result.different == 0 else {
            guard result.added + result.present > 0 else {
                throw CommandFailure("\(added): none of \(file) could be kept", status: .dataError)
            }
            return report("\(added), not all that is in \(file); its keys are in the clear")
        }
        report("\(added); delete \(file) once your other devices show them, too: its keys are in the clear")
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
            lines.append("and \(sites.count - lines.count) more, which are listed on standard error")
        }
        return lines.joined(separator: "\n")
    }

    private static func words(_ what: SkippedCredential, _ count: Int) -> String {
        switch what.otherType {
        case ""?: "\(count) of other types"
        case let type?: "\(count) of type \(SafeText(quoting: type))"
        case nil: "\(PasskeyText.count(count)) \(what.reason)"
        }
    }
}
