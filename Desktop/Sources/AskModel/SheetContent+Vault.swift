// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// The questions about the vault itself.
extension SheetContent {
    /// The beginning of a question about a vault or a file: the purpose and the path.
    static func vault(_ question: JSONText) throws(SheetQuestionError) -> SheetContent {
        var content = SheetContent(decline: tr("Cancel"))
        content.question = purpose(question.member("purpose")?.text)
        // A purpose that needs facts has words of its own.
        if let text = question.member("text")?.text { content.details = SheetText.lines(text) }
        content.details += try path(question)
        return content
    }

    private static func path(_ question: JSONText) throws(SheetQuestionError) -> [String] {
        guard let member = question.member("path") else { return [] }
        guard let path = member.text else { throw .unusable }
        return [SheetText.quoted(path)]
    }

    private static func purpose(_ name: String?) -> String {
        switch name {
        case "list": tr("Show the passkeys of this vault?")
        case "show": tr("Show a passkey of this vault?")
        case "history": tr("Show the history of this vault?")
        case "rename": tr("Rename a passkey of this vault?")
        case "delete": tr("Delete a passkey of this vault?")
        case "session": tr("Manage the passkeys of this vault?")
        case "signal": tr("Apply what a website signals about its passkeys?")
        case "import": tr("Add the passkeys of a file to this vault?")
        case "export": tr("Write all passkeys to a file, with their keys in the clear?")
        case "change-pin": tr("Choose a new PIN for this vault?")
        case "add-passphrase": tr("Add a passphrase to this vault?")
        case "recovery-code": tr("Make a recovery code for this vault?")
        case "tpm": tr("Let the TPM protect the PIN of this vault?")
        case "finger": tr("Allow fingerprints in place of the PIN?")
        case "backup": tr("Write a backup of this vault?")
        case "restore": tr("Restore this backup?")
        case "rekey": tr("Give this vault a new key?")
        case "accept": tr("Accept this vault as it is?")
        case "forget": tr("Forget this computer?")
        case "join": tr("Open this vault on this device?")
        case "init": tr("Make a vault?")
        case "give": tr("Give passkeys of this vault to another one?")
        case "receive": tr("Add passkeys of another vault to this one?")
        case "hand-over": tr("Let another device become a device of this vault?")
        default: tr("Open this vault?")
        }
    }

    /// The question for a new PIN, twice.
    static func newPIN(_ question: JSONText, _ minimum: Int) throws(SheetQuestionError) -> SheetContent {
        var content = SheetContent(decline: tr("Cancel"))
        let creates = question.member("purpose")?.text == "create-vault"
        content.question = creates ? tr("Choose a PIN for your passkeys") : tr("Choose a new PIN")
        content.details = [
            SheetText.tooShort(minimum), tr("It opens the vault on this device only and can't be recovered."),
        ]
        content.details += try path(question)
        content.fields = [.newPIN, .repeatedPIN]
        content.problem = SheetText.problem(question.member("problem"), minimum: minimum, isPIN: true)
        content.agree = tr("Set PIN")
        return content
    }

    /// The question for a passphrase or recovery code.
    static func secret(_ question: JSONText) throws(SheetQuestionError) -> SheetContent {
        var content = try vault(question)
        content.details.append(tr("Type its passphrase or its recovery code."))
        content.fields = [.secret]
        content.problem = SheetText.problem(question.member("problem"), minimum: nil, isPIN: false)
        content.agree = tr("Continue")
        return content
    }

    /// The question for a new passphrase, twice.
    static func newSecret(_ question: JSONText) throws(SheetQuestionError) -> SheetContent {
        let minimum = try question.count("minimumBits", 1...1024)
        var content = SheetContent(decline: tr("Cancel"))
        content.question = tr("Choose a passphrase for this vault")
        content.details = [
            tr("It opens every copy of the vault, on any device."),
            tr("Five random words are enough; a sentence from a book is not."),
        ]
        content.details += try path(question)
        content.fields = [.newPassphrase, .repeatedPassphrase]
        content.problem = SheetText.problem(question.member("problem"), minimum: minimum, isPIN: false)
        content.agree = tr("Set Passphrase")
        return content
    }

    /// The question before a passkey is deleted.
    static func deletion(_ question: JSONText, _ site: SheetSite) throws(SheetQuestionError) -> SheetContent {
        var content = site.content()
        guard let member = question.member("account") else { throw .unusable }
        content.accounts = [try SheetAccount(member, site)]
        let isKey = try question.flag("encryptionKey") || site.kind == .encryptionKey
        let isSSH = site.isForSSH || site.kind == .ssh
        content.question =
            isKey
            ? tr("Delete this encryption key permanently?")
            : isSSH ? tr("Delete this SSH key permanently?") : tr("Delete the passkey of this account permanently?")
        content.details = [
            tr("It is deleted on every device and can't be restored."),
            isKey
                ? tr("Files that only it opens are lost.")
                : tr("Without another way to sign in you lose the account."),
        ]
        if let passkey = question.member("passkey")?.text {
            guard passkey.utf8.count <= 100, passkey.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw .unusable
            }
            content.source = [tr("Passkey {id}", ["id": passkey])]
        }
        (content.agree, content.decline, content.isDestructive) = (tr("Delete"), tr("Cancel"), true)
        return content
    }

    /// The recovery code to write down.
    static func recoveryCode(_ question: JSONText) throws(SheetQuestionError) -> SheetContent {
        var content = SheetContent(decline: tr("Cancel"))
        content.question = tr("Write down this recovery code")
        content.details = [
            tr("Write it on paper and keep it away from this device. It is shown only once."),
            tr("Don't take a picture of the screen."),
        ]
        content.details += try path(question)
        for element in try question.list("groups", 2...maximumGroups) {
            guard let group = element.text, (1...16).contains(group.utf8.count),
                group.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw .unusable }
            content.groups.append(group)
        }
        content.agree = tr("Written Down")
        return content
    }

    private static let maximumGroups = 16

    /// The question for two groups of a recovery code, which proves that it is written down.
    static func groups(_ positions: [Int]) -> SheetContent {
        SheetContent(
            question: tr("Type two groups of the code you wrote down"),
            fields: positions.map { .group($0 + 1) },
            agree: tr("Continue"),
            decline: tr("Cancel"),
            offersBack: true
        )
    }

    /// A question in words of hybrid-auth.
    static func words(_ question: JSONText) throws(SheetQuestionError) -> SheetContent {
        let lines = SheetText.lines(try question.required("text"))
        let label = SheetText.lines(try question.required("agree")).first.map { String($0.prefix(40)) }
        guard let first = lines.first, let label else { throw .unusable }
        return SheetContent(question: first, details: Array(lines.dropFirst()), agree: label, decline: tr("Cancel"))
    }
}
