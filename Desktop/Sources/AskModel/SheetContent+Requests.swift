// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// The questions of a request from another device.
extension SheetContent {
    /// The question for the PIN, for a request or for a purpose of the vault.
    static func pin(_ question: JSONText, _ site: SheetSite?) throws(SheetQuestionError) -> SheetContent {
        var content: SheetContent
        if let site {
            content = site.content()
            (content.question, content.details) = (site.question, site.details)
        } else {
            content = try vault(question)
        }
        content.fields = [.pin]
        content.problem = SheetText.problem(question.member("problem"), minimum: nil, isPIN: true)
        if try question.flag("finger") { content.note = tr("Touch the fingerprint sensor, or type the PIN.") }
        // Another question follows before anything is signed.
        content.agree = tr("Continue")
        return content
    }

    /// Maximum number of accounts.
    private static let maximumAccounts = 64

    /// The question about one account, or the choice of several.
    static func accounts(_ question: JSONText, _ site: SheetSite) throws(SheetQuestionError) -> SheetContent {
        var content = site.content()
        for account in try question.list("accounts", 1...maximumAccounts) {
            content.accounts.append(try SheetAccount(account, site))
        }
        let isOne = content.accounts.count == 1
        if let data = question.member("data") {
            (content.question, content.details) = try SheetStatedData(data).texts
            content.details.append(isOne ? tr("With this key:") : tr("With which key?"))
        } else {
            let isKey = site.kind == .encryptionKey || site.kind == .ssh
            let one = isKey ? site.question : tr("Sign in as this account?")
            content.question = isOne ? one : isKey ? tr("Which key?") : tr("Sign in as which account?")
            content.details = site.details
        }
        content.agree = site.use
        return content
    }

    /// The question about a new passkey, which may replace others.
    static func creation(_ question: JSONText, _ site: SheetSite) throws(SheetQuestionError) -> SheetContent {
        var content = site.content()
        guard let member = question.member("account") else { throw .unusable }
        let account = try SheetAccount(member, site)
        content.accounts = [account]
        let isKey = site.kind == .encryptionKey
        let replaced = try replaced(question, site)
        guard !replaced.isEmpty else {
            if isKey {
                content.question = tr("Create this encryption key?")
                content.details = [tr("Files that only it opens are lost if you delete it.")]
            } else {
                content.question =
                    site.isForSSH ? tr("Save an SSH key with this name?") : tr("Save a passkey for this account?")
            }
            content.agree = isKey ? tr("Create") : tr("Save")
            return content
        }
        content.question =
            isKey
            ? tr("Replace the encryption key?", plural: "Replace {count} encryption keys?", count: replaced.count)
            : tr("Replace the passkey of this account?", plural: "Replace {count} passkeys?", count: replaced.count)
        content.details = [
            tr(
                "The old one is deleted permanently.",
                plural: "The old ones are deleted permanently.",
                count: replaced.count
            )
        ]
        if isKey { content.details.append(tr("Files that only it opens are lost.")) }
        let others = replaced.filter { $0 != account.name }
        if !others.isEmpty { content.details += [tr("Deleted:")] + Self.shortened(others) }
        (content.agree, content.isDestructive) = (tr("Replace"), true)
        return content
    }

    /// Returns the names of the replaced passkeys.
    private static func replaced(_ question: JSONText, _ site: SheetSite) throws(SheetQuestionError) -> [String] {
        guard question.member("replaces") != nil else { return [] }
        var names: [String] = []
        for account in try question.list("replaces", 0...maximumAccounts) {
            names.append(try SheetAccount(account, site).name)
        }
        return names
    }

    /// Maximum number of names that are listed.
    private static let maximumNames = 4

    private static func shortened(_ names: [String]) -> [String] {
        let rest = names.count - maximumNames
        guard rest > 0 else { return names }
        return names.prefix(maximumNames) + [tr("and {count} more", ["count": "\(rest)"])]
    }

    /// A message that the user only acknowledges.
    static func notice(_ question: JSONText, _ site: SheetSite) throws(SheetQuestionError) -> SheetContent {
        var content = site.content()
        (content.agree, content.decline) = (tr("OK"), nil)
        let isSSH = site.kind == .ssh || site.operation == .login || site.operation == .message
        switch try question.required("notice") {
        case "no-passkey", "data-not-stated": content.question = missing(site, isSSH)
        case "already-registered":
            content.question =
                switch site.kind {
                case .encryptionKey: tr("This device already has this encryption key.")
                case .domain: tr("This device already has a passkey for this site.")
                case .ssh: tr("This device already has this SSH key.")
                case .pam: tr("This device already has a passkey for this computer.")
                }
            content.details = [tr("You don't need another.")]
        default: throw .unusable
        }
        if question.member("notice")?.text == "data-not-stated", site.kind != .encryptionKey {
            content.question = SheetSite.unstated
            content.details = [tr("This device doesn't use its SSH key without that.")]
        }
        return content
    }

    private static func missing(_ site: SheetSite, _ isSSH: Bool) -> String {
        switch site.kind {
        case .encryptionKey: tr("This device does not have the encryption key.")
        case _ where isSSH: tr("This device does not have the SSH key.")
        case .pam: tr("This device has no passkey that this computer accepts.")
        default: tr("This device has no passkey that this site accepts.")
        }
    }

    /// The question whether to link the computer that shows the code.
    static func link(_ question: JSONText) throws(SheetQuestionError) -> SheetContent {
        let relay = try SheetText.host(question.required("relay"))
        return SheetContent(
            question: tr("Link this device with the computer that shows the code?"),
            details: [
                tr(
                    "The computer can then ask this device again without a code, through the relay {host}.",
                    ["host": relay]
                ),
                tr("Each request still needs a tap, the PIN and Bluetooth."), tr("Link only your own computer."),
            ],
            fields: [.computerName],
            agree: tr("Link"),
            decline: tr("Don't Link")
        )
    }

    /// The question before a code from a link is used.
    static func openedLink(_ question: JSONText) throws(SheetQuestionError) -> SheetContent {
        let relay = try SheetText.host(question.required("relay"))
        var details = [
            tr("The code came from the link, not from a camera."),
            tr("Continue only if you just scanned a code on a device in front of you."),
            tr("The relay {host} and Bluetooth will be used.", ["host": relay]),
        ]
        if let age = question.member("codeAge")?.integer(Int.self) {
            details.append(tr("The code was made {age} ago.", ["age": SheetText.age(age)]))
        }
        return SheetContent(
            question: tr("A link asks this device to sign in on another one."),
            details: details,
            warnings: try SheetSite.warnings(question),
            agree: tr("Continue"),
            decline: tr("Decline")
        )
    }
}

extension SheetAccount {
    /// Creates an account; both names may be empty.
    init(_ account: JSONText, _ site: SheetSite) throws(SheetQuestionError) {
        let names = [try account.required("name"), try account.required("displayName")].filter { !$0.isEmpty }
        let isKey = site.kind == .encryptionKey
        let unnamed = isKey ? tr("a key without a name") : tr("an account without a name")
        name = names.first.map(SheetText.quoted) ?? unnamed
        let second = names.dropFirst().first.map(SheetText.quoted)
        note = second == name ? nil : second
        lastUsed = account.member("lastUsed")?.integer(Int.self)
    }
}

/// The data that an SSH key signs, as the other device states it.
private struct SheetStatedData {
    let texts: (question: String, details: [String])

    init(_ data: JSONText) throws(SheetQuestionError) {
        switch try data.required("kind") {
        case "login":
            let user = SheetText.quoted(try data.required("user"))
            let server = try Self.server(data)
            texts = (tr("Log in to an SSH server as this user?"), [user] + server + (try Self.certificate(data)))
        case "message":
            let namespace = try data.required("namespace")
            guard namespace != "git" else {
                texts = (tr("Sign for git?"), [])
                return
            }
            texts = (tr("Sign a message with an SSH key?"), [tr("Its purpose:"), SheetText.quoted(namespace)])
        default: throw .unusable
        }
    }

    private static func server(_ data: JSONText) throws(SheetQuestionError) -> [String] {
        guard data.member("hostKey") != nil else { return [tr("The request does not name the server.")] }
        let isWeak = try data.flag("weak")
        return [
            isWeak ? tr("Weak host key of the server:") : tr("Host key of the server:"),
            try fingerprint(data, "hostKey"),
        ]
    }

    private static func certificate(_ data: JSONText) throws(SheetQuestionError) -> [String] {
        guard let certificate = data.member("certificate") else { return [] }
        let principals = SheetText.quoted(try certificate.required("principals"))
        let authority = try fingerprint(certificate, "authority")
        return [tr("Certificate for:"), principals, tr("Of the authority:"), authority]
    }

    /// Returns a fingerprint of visible characters.
    private static func fingerprint(_ data: JSONText, _ name: String) throws(SheetQuestionError) -> String {
        let text = try data.required(name)
        guard text.utf8.count <= 100, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .unusable }
        return text
    }
}
