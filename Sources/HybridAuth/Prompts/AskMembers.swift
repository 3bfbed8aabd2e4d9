// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridPrimitives
internal import HybridSSHAgent

/// Members of questions for a program (docs/ask.md), which words them itself.
///
/// Names are as received: the program makes them safe to show.
enum AskMembers {
    /// A member and its value.
    typealias Member = (String, JSONText)

    /// Returns the members that name a relying party.
    static func site(_ relyingParty: RelyingPartyID) -> [Member] {
        let kind =
            switch relyingParty.kind {
            case .domain where relyingParty.isEncryptionKey: "encryption-key"
            case .domain: "domain"
            case .ssh: "ssh"
            case .pam: "pam"
            }
        var members: [Member] = [("rpId", .string(relyingParty.text)), ("site", .string(kind))]
        if let name = relyingParty.localName, !name.isEmpty { members.append(("local", .string(name))) }
        if let service = relyingParty.service { members.append(("service", .string(service))) }
        return members
    }

    /// Returns the members that describe a request and its circumstances.
    static func request(_ operation: RequestedOperation, _ context: SignInContext) -> [Member] {
        var members = site(operation.relyingParty) + [("operation", .string(name(operation)))]
        if operation.isForSSH { members.append(("forSSH", .boolean(true))) }
        if operation.givesSecret { members.append(("givesSecret", .boolean(true))) }
        members.append(context.transport.member)
        if let age = context.age { members.append(("codeAge", .number(Int(clamping: age)))) }
        if let computer = context.computer { members.append(("computer", .string(computer))) }
        if let code = context.offeredLink { members.append(("linkCode", .string("\(code)".replacing(" ", with: "")))) }
        return members + warnings(age: context.age, virtualRadio: context.virtualRadio)
    }

    /// Returns the member with the warnings; empty if there is none.
    static func warnings(age: UInt64?, virtualRadio: Bool = false) -> [Member] {
        var names: [JSONText] = []
        if virtualRadio { names.append(.string("virtual-radio")) }
        if CodeAge.warning(age) != nil { names.append(.string("old-code")) }
        return names.isEmpty ? [] : [("warnings", .array(names))]
    }

    private static func name(_ operation: RequestedOperation) -> String {
        switch operation {
        case .create: "create"
        case .signIn: "sign-in"
        case .signSSH(_, .login, _): "ssh-login"
        case .signSSH(_, .message, _): "ssh-message"
        }
    }

    /// Returns the member with the data to be signed; empty if it is not stated.
    static func data(_ operation: RequestedOperation) -> [Member] {
        guard case .signSSH(_, let content, _) = operation else { return [] }
        switch content {
        case .message(let message):
            let members: [Member] = [
                ("kind", .string("message")), ("namespace", .string(message.namespace.description)),
            ]
            return [("data", .object(members))]
        case .login(let login):
            var members: [Member] = [("kind", .string("login")), ("user", .string(login.user.description))]
            if let key = login.hostKey {
                members.append(("hostKey", .string("\(key.fingerprint)")))
                if key.isWeak { members.append(("weak", .boolean(true))) }
            }
            if let certificate = login.certificate {
                let facts: [Member] = [
                    ("principals", .string(certificate.shownPrincipals)),
                    ("authority", .string("\(certificate.authority)")),
                ]
                members.append(("certificate", .object(facts)))
            }
            return [("data", .object(members))]
        }
    }

    /// Maximum lengths of names in bytes; a shorter one is used if the question does not fit a line.
    static let nameLengths = [1024, 256, 64]

    /// Returns an account, and when it was last used in seconds since 1970, if that is known.
    static func account(
        _ account: UserEntity,
        lastUsed: UInt64? = nil,
        isEncryptionKey: Bool,
        names length: Int = nameLengths[0]
    ) -> JSONText {
        let name = isEncryptionKey ? EncryptionKeyText.name(account.name) : account.name
        let names: [Member] = [
            ("name", .string(cut(name, length))), ("displayName", .string(cut(account.displayName, length))),
        ]
        let time = lastUsed.flatMap { Int(exactly: $0) }.map { [("lastUsed", JSONText.number($0))] }
        return .object(names + (time ?? []))
    }

    /// Returns the beginning of a name, of which a window shows at most 192 bytes in any case.
    static func cut(_ name: String, _ length: Int) -> String {
        guard name.utf8.count > length else { return name }
        var (kept, bytes) = (String.UnicodeScalarView(), 0)
        for scalar in name.unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= length else { break }
            kept.append(scalar)
        }
        return String(kept) + "\u{2026}"
    }

    /// Returns the first question that fits a line, with names as long as possible.
    static func fitting(_ question: (_ length: Int) -> AskQuestion) -> AskQuestion {
        let questions = nameLengths.lazy.map(question)
        return questions.first { $0.fits } ?? question(nameLengths[nameLengths.count - 1])
    }
}
