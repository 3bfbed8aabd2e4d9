// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// The relying party of a question, its operation, and the sender of the request.
///
/// A domain is the heading itself. Local services have a heading of their own instead, which no domain can equal, and
/// the name that the other device has chosen follows in quotation marks.
///
/// Each name is on a line of its own: right-to-left letters reorder their whole line, and a name could otherwise look like
/// a continuation of the text.
struct SheetSite {
    enum Kind {
        case domain
        case encryptionKey
        case ssh
        case pam
    }

    enum Operation: String {
        case signIn = "sign-in"
        case create
        case login = "ssh-login"
        case message = "ssh-message"
    }

    let kind: Kind
    /// The operation; `nil` in questions of the vault.
    let operation: Operation?
    let isForSSH: Bool
    private let identifier: String
    private let local: String?
    private let service: String?
    private let givesSecret: Bool
    private let source: [String]
    private let warnings: [String]

    /// Creates a site from the members of a question; `nil` if there is none.
    ///
    /// - Throws: ``SheetQuestionError`` if it can't be shown safely.
    init?(_ question: JSONText) throws(SheetQuestionError) {
        guard let member = question.member("rpId") else { return nil }
        guard let identifier = member.text else { throw .unusable }
        self.identifier = identifier
        switch question.member("site")?.text {
        case "domain": kind = .domain
        case "encryption-key": kind = .encryptionKey
        case "ssh": kind = .ssh
        case "pam": kind = .pam
        default: throw .unusable
        }
        // A name with other characters could look like a sentence of the sheet.
        let isLocal = kind == .ssh || kind == .pam
        guard isLocal || SheetText.isHost(identifier) else { throw .unusable }
        operation = try Self.operation(question)
        local = question.member("local")?.text.flatMap { $0.isEmpty ? nil : $0 }
        service = question.member("service")?.text
        isForSSH = try question.flag("forSSH")
        givesSecret = try question.flag("givesSecret")
        source = try Self.source(question)
        warnings = try Self.warnings(question)
    }

    private static func operation(_ question: JSONText) throws(SheetQuestionError) -> Operation? {
        guard let member = question.member("operation") else { return nil }
        guard let operation = member.text.flatMap({ Operation(rawValue: $0) }) else { throw .unusable }
        return operation
    }

    /// Returns the warnings of a question.
    static func warnings(_ question: JSONText) throws(SheetQuestionError) -> [String] {
        guard let member = question.member("warnings") else { return [] }
        guard let elements = member.elements, elements.count <= maximumWarnings else { throw .unusable }
        var warnings: [String] = []
        for element in elements {
            guard let code = element.text, SheetText.isHost(code) else { throw .unusable }
            warnings.append(SheetText.warning(code, age: question.member("codeAge")?.integer(Int.self)))
        }
        return warnings
    }

    private static let maximumWarnings = 4

    private static func source(_ question: JSONText) throws(SheetQuestionError) -> [String] {
        var lines: [String] = []
        if let computer = question.member("computer")?.text {
            lines += [tr("From your linked computer"), SheetText.quoted(computer)]
        } else if let age = question.member("codeAge")?.integer(Int.self) {
            lines.append(tr("From the code you scanned, made {age} ago", ["age": SheetText.age(age)]))
        } else if question.member("operation") != nil {
            lines.append(tr("From the code you scanned"))
        }
        if try question.flag("bluetooth") {
            lines.append(tr("By Bluetooth alone"))
        } else if let relay = question.member("relay")?.text {
            lines.append(tr("Through the relay {host}", ["host": try SheetText.host(relay)]))
        }
        if let code = question.member("linkCode")?.text {
            guard code.utf8.count == 6, code.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .unusable }
            lines.append(tr("Link code {code}", ["code": "\(code.prefix(3)) \(code.dropFirst(3))"]))
        }
        return lines
    }

    /// Returns a content with the site, without question.
    func content() -> SheetContent {
        var content = SheetContent(decline: tr("Decline"))
        (content.source, content.warnings) = (source, warnings)
        switch kind {
        case .domain: content.heading = identifier
        case .encryptionKey:
            content.heading = tr("Encryption key")
            content.subject = [identifier]
        case .ssh: content.heading = tr("SSH key")
        case .pam: content.heading = tr("Login to a computer")
        }
        guard kind == .ssh || kind == .pam else { return content }
        if let local { content.subject.append(SheetText.quoted(local)) }
        if let service { content.subject += [tr("The service that asks:"), SheetText.quoted(service)] }
        return content
    }

    /// The question that asks for the PIN.
    var question: String {
        switch operation {
        case .create where kind == .encryptionKey: tr("Create an encryption key?")
        case _ where kind == .encryptionKey: tr("Give the other device this key?")
        case .create where isForSSH || kind == .ssh: tr("Create an SSH key?")
        case .create where kind == .pam: tr("Create a passkey for logins to this computer?")
        case .create: tr("Create a passkey for this site?")
        case .login: tr("Log in to an SSH server?")
        case .message: tr("Sign a message with an SSH key?")
        case .signIn where kind == .ssh: tr("Sign with this SSH key?")
        case .signIn where kind == .pam: service == nil ? tr("Log in to this computer?") : tr("Confirm this service?")
        case .signIn, nil: tr("Sign in to this site?")
        }
    }

    /// Further facts about the operation.
    var details: [String] {
        var details: [String] = []
        if operation == .signIn, kind == .ssh { details.append(Self.unstated) }
        if operation == .signIn, kind == .pam, service == nil {
            details.append(tr("The computer did not say which service asks: sudo, su or another."))
        }
        if givesSecret, kind != .encryptionKey {
            let isForSite = kind == .domain && !isForSSH
            details.append(isForSite ? tr("The site also gets a secret.") : tr("The other device also gets a secret."))
        }
        return details
    }

    /// The label of the button that uses a passkey.
    var use: String {
        switch operation {
        case _ where kind == .encryptionKey: tr("Use Key")
        case .message: tr("Sign")
        case .login: tr("Log In")
        case _ where kind == .ssh: tr("Sign")
        case _ where kind == .pam: tr("Confirm")
        default: tr("Sign In")
        }
    }

    static var unstated: String { tr("The other device did not say what is signed.") }
}
