// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAge
internal import HybridCTAP
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSecrets
internal import HybridWebAuthn

/// The command `hybrid-key secret create`.
struct SecretCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a key that a phone opens, and print its recipient.",
        discussion: """
            The phone is asked twice: it creates a passkey, and then opens the key with it. At the end, the terminal shows \
            the key itself once. Write it down: this copy opens everything if the phone is lost.
            """
    )

    @OptionGroup
    var name: SecretNameOption

    @Option(
        help: ArgumentHelp(
            "Your domain for the passkey, such as secrets.example.org; default: a random name below .invalid.",
            valueName: "domain"
        )
    )
    var rp: String?

    @Option(
        name: .customLong("import"),
        help: ArgumentHelp("Take the key AGE-SECRET-KEY-1… in this file instead of a new one.", valueName: "file")
    )
    var importedFile: String?

    @Option(
        help: ArgumentHelp("Let the owner of this recipient open the key, too; may be repeated.", valueName: "age1…")
    )
    var alsoTo: [String] = []

    @Flag(help: "Don't show a copy of the key; needs --also-to or --add-phone.")
    var noCopy = false

    @Flag(help: "Add a second phone at once.")
    var addPhone = false

    @OptionGroup
    var phone: SecretPhoneOptions

    func validate() throws {
        guard !noCopy || !alsoTo.isEmpty || addPhone else {
            throw ValidationError("--no-copy needs --also-to or --add-phone: a lost phone would lose the files.")
        }
    }

    func run() async throws {
        try StandardOutput.requireOpen()
        let store = try SecretStore.ofUser()
        try store.checkFree(name.name)
        let others = try alsoTo.map(Self.recipient)
        let key = try importedFile.map { try SecretKeyFile.read($0) } ?? .random()
        // Before the phone is asked.
        let terminal = noCopy ? ControllingTerminal() : try ControllingTerminal.required()
        let id = try rp.map(Self.relyingPartyID) ?? Self.randomRelyingPartyID()
        let creation = SealedKeyCreation(try phone.phone())
        HybridKey.report("1. create the passkey on your phone; 2. open the key with it")
        var sealed = try await creation.seal(key, name: name.name, relyingPartyID: id, others: others)
        try await confirmPhone(terminal)
        if addPhone {
            HybridKey.report("now the second phone: 1. open the key with the first; 2. and 3. use the second")
            do {
                sealed = try await creation.addPhone(to: sealed)
            } catch {
                HybridKey.report("nothing is stored; delete the passkey \"\(account)\" of \(id) on the first phone")
                throw error
            }
        }
        if !noCopy, let terminal { try showCopy(of: key, terminal) }
        do throws(CommandFailure) {
            try store.add(sealed, as: name.name)
        } catch {
            // The phone has the passkey already, so the key must not be lost.
            HybridKey.report(
                "keep these lines in a file for age -i, or delete the passkey \"\(account)\" on the phone:"
            )
            try StandardOutput.write(SecretStore.text(sealed))
            throw error
        }
        HybridKey.report("copy \(store.path(of: name.name)) next to your backups; without it, the phone is useless")
        try StandardOutput.writeLine("\(sealed.recipient)")
    }

    /// The name of the account on the phone.
    private var account: String { "\(name.name) (encryption key)" }

    private func confirmPhone(_ terminal: ControllingTerminal?) async throws {
        guard let terminal else {
            return HybridKey.report("check that your phone has the passkey \"\(account)\" now")
        }
        guard await terminal.isConfirmed("Is \"\(account)\" on your phone now? (yes or no) ") else {
            throw CommandFailure(
                "nothing is stored, because another person may have scanned the code; try again where no other person sees it",
                code: "not-your-phone",
                status: .notPermitted
            )
        }
    }

    private func showCopy(of key: AgeSecretKey, _ terminal: ControllingTerminal) throws(CommandFailure) {
        var text = key.text
        defer { SecretBytes.wipe(&text) }
        guard terminal.confirmCopy(text) else {
            throw CommandFailure(
                "nothing is stored, because the copy was not confirmed; delete the passkey "
                    + "\"\(account)\" on the phone, and try again",
                code: "copy-not-confirmed",
                status: .notPermitted
            )
        }
    }

    private static func recipient(_ text: String) throws(CommandFailure) -> AgeRecipient {
        do throws(AgeFormatError) {
            return try AgeRecipient(parsing: text)
        } catch {
            throw CommandFailure("--also-to: \(error)", status: .usage)
        }
    }

    /// Returns the relying party ID of `--rp`, with a warning about the websites that could ask for the key.
    private static func relyingPartyID(_ text: String) throws(CommandFailure) -> RelyingPartyID {
        guard let id = RelyingPartyID(text) else {
            throw CommandFailure("--rp takes a lower-case domain, in its xn-- form", status: .usage)
        }
        guard !id.text.hasSuffix(".invalid") else { return id }
        guard (try? id.isPublicSuffix()) != true else {
            throw CommandFailure(
                "\(id) is too general for --rp: browsers refuse it; name a domain of yours",
                status: .usage
            )
        }
        let isBelow = (try? id.isBelowRegistrableDomain()) == true
        let who = isBelow ? "websites at \(id) and below" : "all websites of \(id)"
        HybridKey.report(
            "warning: \(who) can ask the phone for this key, and the phone shows an ordinary sign-in; never use the domain of "
                + "a site with accounts"
        )
        return id
    }

    private static func randomRelyingPartyID() throws(CommandFailure) -> RelyingPartyID {
        var generator = SystemRandomNumberGenerator()
        guard let id = RelyingPartyID.random(prefix: "secret-", using: &generator) else {
            throw CommandFailure("internal fault: no request; please report it", status: .software)
        }
        return id
    }
}

/// A file with a key of age, for `--import`.
enum SecretKeyFile {
    /// Maximum length of a file in bytes.
    private static let maximumLength = 64 * 1024

    /// Reads the key; `-` stands for standard input.
    ///
    /// - Throws: ``CommandFailure`` unless the file has exactly one key.
    static func read(_ path: String) throws(CommandFailure) -> AgeSecretKey {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure("\(path) can't be read: \(String(cString: strerror(errno)))", status: .noInput)
        }
        defer { if path != "-" { close(descriptor) } }
        let memory = SecretBytes(count: maximumLength)
        var count = 0
        while count < maximumLength, let base = memory.memory.baseAddress {
            let new = Glibc.read(descriptor, base + count, maximumLength - count)
            if new < 0, errno == EINTR { continue }
            guard new > 0 else { break }
            count += new
        }
        do throws(AgeFormatError) {
            return try AgeSecretKey(lines: UnsafeRawBufferPointer(rebasing: memory.memory[..<count]))
        } catch {
            throw CommandFailure(
                "\(path == "-" ? "standard input" : path): \(error), or more than one; post-quantum keys are not supported",
                code: "no-age-key",
                status: .dataError
            )
        }
    }
}
