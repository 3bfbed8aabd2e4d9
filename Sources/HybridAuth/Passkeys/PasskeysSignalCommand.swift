// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridCredentialExchange
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// `passkeys signal FILE`: hides, shows and renames passkeys as a website signals.
struct PasskeysSignal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signal",
        abstract: "Hide, show and rename passkeys as a website signals.",
        discussion: """
            FILE has one object, or an array of objects, that a website passes to signalUnknownCredential, \
            signalAllAcceptedCredentials or signalCurrentUserDetails (WebAuthn Level 3). Nothing is deleted: hidden \
            passkeys are only offered to sites that name them, and a later signal shows them again. New names need a \
            confirmation. No browser passes signals on to a phone, so make sure that the file is from the website.
            """
    )

    @OptionGroup var output: PasskeyOutput

    @Argument(help: ArgumentHelp("The signals in JSON; a dash reads standard input.", valueName: "file|-"))
    var file: String

    @Flag(help: "Skip the confirmation of new names; the PIN is still required.")
    var yes = false

    func run() async throws {
        let json: [UInt8]
        do throws(FileReadError) {
            json = try readWholeFileOrStandardInput(file, atMost: PasskeySignal.maximumLength)
        } catch {
            throw CommandFailure("\(file): \(error.sentence)", status: error == .tooLarge ? .dataError : .noInput)
        }
        let signals = try PasskeySignal.read(json)
        let sites = Set(signals.map(\.relyingParty.text)).sorted()
        let others = sites.count > 1 ? "\nand \(sites.count - 1) more" : ""
        let text = "\(VaultPurpose.signal.sentence)\n\n\(sites[0])\(others)"
        try await output.run(.signal, saying: text) { vault, prompts in
            let changes = try await vault.changes(for: signals)
            let renamed = changes.filter { $0.user != nil }
            if !renamed.isEmpty, !yes { try await prompts.confirm(Self.question(renamed), ok: "Rename") }
            let count = try await vault.make(changes)
            for change in changes { Self.words(change).forEach(report) }
            report(count == 0 ? "nothing to change" : "changed \(PasskeyText.count(count))")
            guard output.json else { return "" }
            let ids = Set(changes.map(\.passkey.record))
            let rows = try await vault.summaries().filter { ids.contains($0.record) }.map(PasskeyJSON.summary)
            return JSONText.object([("passkeys", .array(rows))]).description
        }
    }

    /// Maximum length of the accounts in the question but for the first, which fits a line of pinentry's protocol.
    private static let maximumBytes = 400

    /// Returns the question before names change; sites and accounts are on lines of their own.
    private static func question(_ changes: [SignaledChange]) -> String {
        var (accounts, bytes) = ([String](), 0)
        for change in changes {
            let account =
                "\(PasskeyText.site(change.passkey))\n\(PasskeyText.account(change.passkey)) becomes "
                + PasskeyText.account(change.user)
            bytes += account.utf8.count
            guard accounts.isEmpty || bytes <= maximumBytes else { break }
            accounts.append(account)
        }
        let others = changes.count - accounts.count
        return "Rename \(changes.count == 1 ? "this account" : "these accounts") as the website signals?\n\n"
            + accounts.joined(separator: "\n") + (others > 0 ? "\nand \(others) more" : "")
    }

    private static func words(_ change: SignaledChange) -> [String] {
        let (site, account) = (PasskeyText.site(change.passkey), PasskeyText.account(change.passkey))
        let passkey = "the passkey for \(site), account \(account)"
        let visibility = change.hides.map { "\($0 ? "hidden" : "shown again"): \(passkey)" }
        let names = change.user.map { "renamed: \(passkey), is now \(PasskeyText.account($0))" }
        return [visibility, names].compactMap(\.self)
    }
}
