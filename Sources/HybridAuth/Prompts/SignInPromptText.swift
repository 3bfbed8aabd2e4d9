// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridPrimitives
internal import HybridSSHAgent

/// Texts of prompts that depend on the operation and the kind of the relying party.
///
/// A domain is alone on the first line. Local services have a heading of their own instead, which no domain can equal.
/// The name of a local service is chosen by the other device, so it follows on a line of its own, in quotation marks.
enum SignInPromptText {
    /// Returns the first lines of a prompt.
    static func heading(_ relyingParty: RelyingPartyID) -> String {
        let title =
            switch relyingParty.kind {
            case .domain where relyingParty.isEncryptionKey: "Encryption key\n\(relyingParty)"
            case .domain: relyingParty.text
            case .ssh: "SSH key"
            case .pam: "Login to a computer"
            }
        guard let name = relyingParty.localName, !name.isEmpty else { return title }
        let service = relyingParty.service.map { "\nThe service that asks:\n\(SafeText(quoting: $0))" } ?? ""
        return "\(title)\n\(SafeText(quoting: name))\(service)"
    }

    /// Returns the question that asks for the PIN, and what the other device gets besides.
    static func question(_ operation: RequestedOperation) -> String {
        let relyingParty = operation.relyingParty
        guard !relyingParty.isEncryptionKey else { return EncryptionKeyText.question(operation) }
        guard operation.givesSecret else { return purpose(operation) }
        let isForSite = relyingParty.kind == .domain && !operation.isForSSH
        return "\(purpose(operation))\n\(isForSite ? "It" : "The other device") also gets a secret."
    }

    private static func purpose(_ operation: RequestedOperation) -> String {
        switch operation {
        case .create(_, for: .ssh, _): "Create an SSH key?"
        case .create(let relyingParty, for: nil, _):
            switch relyingParty.kind {
            case .domain: "Create a passkey for this site?"
            case .ssh: "Create an SSH key?"
            case .pam: "Create a passkey for logins to this computer?"
            }
        case .signIn(let relyingParty, _):
            switch relyingParty.kind {
            case .domain: "Sign in to this site?"
            case .ssh: "Sign with this SSH key?\n\(unstated)"
            case .pam where relyingParty.service == nil:
                "Log in to this computer?\nThe computer did not say which service asks: sudo, su or another."
            case .pam: "Confirm this service of the computer?"
            }
        case .signSSH(_, .login, _): "Log in to an SSH server?"
        case .signSSH(_, .message(let message), _): question(message)
        }
    }

    /// Returns the question about one account to use, with the data to be signed if it is stated.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - name: The account's name, made safe.
    ///   - counter: The position among several accounts, or an empty text.
    static func consent(to operation: RequestedOperation, with name: String, _ counter: String) -> String {
        switch operation {
        case .signSSH(_, let content, _): "\(details(content))\nWith the key:\(counter)\n\(name)"
        case .signIn(let relyingParty, _) where relyingParty.kind == .ssh:
            "Sign with this key?\(counter)\n\(name)\n\(unstated)"
        case .signIn(let relyingParty, _) where relyingParty.isEncryptionKey:
            "\(EncryptionKeyText.use)\(counter)\n\(name)"
        case .create, .signIn: "Sign in as this account?\(counter)\n\(name)"
        }
    }

    /// Returns the text of a notice.
    static func notice(_ notice: Notice, _ operation: RequestedOperation) -> String {
        if operation.relyingParty.isEncryptionKey { return EncryptionKeyText.notice(notice) }
        return switch (notice, operation.relyingParty.kind, operation) {
        case (.dataNotStated, _, _): "\(unstated) This device doesn't use its SSH key without that."
        case (.noPasskey, _, .signSSH), (.noPasskey, .ssh, _): "This device does not have the SSH key."
        case (.noPasskey, .domain, _): "This device has no passkey that this site accepts."
        case (.noPasskey, .pam, _): "This device has no passkey that this computer accepts."
        case (.alreadyRegistered, .domain, _):
            "This device already has a passkey for this site; you don't need another."
        case (.alreadyRegistered, .ssh, _): "This device already has this SSH key; you don't need another."
        case (.alreadyRegistered, .pam, _):
            "This device already has a passkey for this computer; you don't need another."
        }
    }

    private static let unstated = "The other device did not say what is signed."

    private static func question(_ message: MessageData) -> String {
        message.namespace.description == "git" ? "Sign for git?" : "Sign a message with an SSH key?"
    }

    /// Returns the lines about a certificate, whose authority only the server verifies.
    private static func certificate(_ login: LoginData) -> String {
        guard let certificate = login.certificate else { return "" }
        return "\nCertificate for \(certificate.shownPrincipals), of the authority:\n\(certificate.authority)"
    }

    private static func details(_ content: SignedData.Content) -> String {
        switch content {
        case .login(let login):
            let user = "Log in to an SSH server as this user?\n\(SafeText(quoting: login.user.description))"
            let server =
                login.hostKey.map { "\($0.isWeak ? "Weak host key" : "Host key") of the server:\n\($0.fingerprint)" }
                ?? "The request does not name the server."
            return "\(user)\n\(server)\(certificate(login))"
        case .message(let message):
            let question = question(message)
            let namespace = SafeText(quoting: message.namespace.description)
            return message.namespace.description == "git" ? question : "\(question)\nIts purpose:\n\(namespace)"
        }
    }
}

/// Texts that follow the RP ID in prompts about an account.
///
/// Each name from a request is on a line of its own, without text of this program. Right-to-left letters reorder their
/// whole line, and a name could otherwise look like a continuation of the text.
enum ConsentText {
    /// Maximum length of several names together in bytes, so that the whole text fits a line of pinentry's protocol.
    private static let maximumBytes = 400

    /// Returns the question for a new passkey, and the label of the button that consents.
    static func creation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) -> (text: String, ok: String) {
        let isEncryptionKey = operation.relyingParty.isEncryptionKey
        func name(_ account: UserEntity) -> String { Self.name(account, operation) }
        guard let first = replaced.first else {
            guard !isEncryptionKey else {
                return ("Create this encryption key?\n\(name(account))\n\(EncryptionKeyText.laterLoss)", "Create")
            }
            let what = operation.isForSSH ? "Save an SSH key with this name?" : "Save a passkey for this account?"
            return ("\(what)\n\(name(account))", "Save")
        }
        let kind = isEncryptionKey ? "encryption key" : "passkey"
        let what = replaced.count == 1 ? "the \(kind)" : "the \(replaced.count) \(kind)s"
        let old = replaced.count == 1 ? "The old one is" : "The old ones are"
        var text = "Replace \(what) of this account with a new one?\n\(old) deleted permanently."
        if isEncryptionKey { text += " \(EncryptionKeyText.loss)" }
        // Each different name once.
        var named: [String] = []
        for name in replaced.map(name) where !named.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            named.append(name)
        }
        var (shown, bytes) = (0, name(account).utf8.count)
        for name in named {
            bytes += name.utf8.count
            guard shown == 0 || bytes <= maximumBytes else { break }
            text += "\n\(name)"
            shown += 1
        }
        if named.count > shown { text += "\nand \(named.count - shown) more" }
        if named.count > 1 || !name(first).utf8.elementsEqual(name(account).utf8) {
            text += "\nThe new one is for\n\(name(account))"
        }
        return (text, "Replace")
    }

    /// Returns the question about one account to use; `position` counts from 1.
    static func use(
        of account: UserEntity,
        _ position: Int,
        of count: Int,
        for operation: RequestedOperation
    ) -> String {
        SignInPromptText.consent(
            to: operation,
            with: name(account, operation),
            count > 1 ? " (\(position) of \(count))" : ""
        )
    }

    private static func name(_ account: UserEntity, _ operation: RequestedOperation) -> String {
        let isEncryptionKey = operation.relyingParty.isEncryptionKey
        let name = account.name.isEmpty ? account.displayName : account.name
        guard !name.isEmpty else { return isEncryptionKey ? "a key without a name" : "an account without a name" }
        return "\(SafeText(quoting: isEncryptionKey ? EncryptionKeyText.name(name) : name))"
    }
}
