// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The request that the phone is asked to answer, as texts for the user.
///
/// Nothing is guessed: a text mentions only what the event contains. If a member is not in its expected form, the
/// request is refused, because the user could not know what is signed.
public struct PromptRequest: Equatable, Sendable {
    /// The purpose on one line, such as "Sign in to example.com".
    public let purpose: String
    /// Further facts, one per line.
    public let details: [String]
    /// Sentences that the user should read before agreeing.
    public let cautions: [String]
    /// The time limit of each state in which the user must act; `nil` if unknown.
    public let timeout: Duration?
    /// True if another host sent the request, for a website in a browser there.
    public let isRemote: Bool
    /// True if the user may also agree to later requests of this host for this site.
    public let offersAlways: Bool
    /// True if another device gives something to this one, instead of a phone that answers.
    public let isTransfer: Bool

    /// Creates a request from an event.
    ///
    /// - Throws: ``PromptInputError/unusableRequest``.
    init(_ event: JSONText) throws(PromptInputError) {
        let facts = RequestFacts(event)
        let operation = event.member("operation")?.text
        isRemote = operation == "remote-sign-in" || operation == "remote-create"
        isTransfer = operation == "receive" || operation == "join"
        // A new passkey is confirmed each time.
        let isPermanent = isRemote ? try facts.flag("permanent") : false
        offersAlways = operation == "remote-sign-in" && isPermanent
        cautions = isRemote ? try facts.cautions() : []
        (purpose, details) =
            switch operation {
            case "create": (try facts.creation(), [])
            case "sign-in": (try facts.signIn(), [])
            case "remote-sign-in": try facts.remote("Sign in to")
            case "remote-create": try facts.remote("Create a passkey for")
            case "select": ("Use your phone as security key?", [])
            case "present": ("Present a digital credential to \(try facts.origin())", [])
            case "issue": ("Receive a digital credential from \(try facts.origin())", [])
            case "link": try facts.link()
            case "ssh-login": try facts.login()
            case "ssh-signature": try facts.signature()
            case "secret-create": try facts.encryptionKey("Create the encryption key")
            case "secret-add-phone": try facts.encryptionKey("Add a phone to the encryption key")
            case "secret-open": try facts.openedKey()
            case "secret-encrypt": try facts.file("Encrypt")
            case "secret-decrypt": try facts.decryption()
            case "receive": ("Receive passkeys from a person nearby", [])
            case "join": ("Join a vault that another device has", [])
            default: throw .unusableRequest
            }
        let limit = event.member("timeout_ms")?.integer() ?? 0
        timeout = (1...86_400_000).contains(limit) ? .milliseconds(limit) : nil
    }
}

/// The members of a request, checked before use.
private struct RequestFacts {
    let event: JSONText

    init(_ event: JSONText) { self.event = event }

    /// Returns the RP ID.
    ///
    /// The program that writes the request enforces the grammar of domains. These characters cannot be confused with
    /// the text around them.
    func relyingParty() throws(PromptInputError) -> String {
        guard let identifier = try visible("rp_id") else { throw .unusableRequest }
        return identifier
    }

    /// Returns the origin of the website that asks for a digital credential, or offers one.
    func origin() throws(PromptInputError) -> String {
        guard let origin = try visible("origin") else { throw .unusableRequest }
        return origin
    }

    /// Returns the purpose of a new passkey.
    func creation() throws(PromptInputError) -> String {
        let relyingParty = try relyingParty()
        if let key = Self.name(relyingParty, after: "ssh:") { return "Create \(Self.sshKey(key))" }
        if let pam = Self.pam(relyingParty) {
            return "Enrol the phone for \(pam.service.map { "\($0) on " } ?? "")\(pam.host)"
        }
        return "Create a passkey for \(relyingParty)"
    }

    /// Returns the purpose of an assertion.
    func signIn() throws(PromptInputError) -> String {
        let relyingParty = try relyingParty()
        if let key = Self.name(relyingParty, after: "ssh:") { return "Use \(Self.sshKey(key))" }
        // pam_u2f does not report which service it runs for, unless its configuration names an origin for each.
        if let pam = Self.pam(relyingParty) {
            return "Confirm \(pam.service ?? "sudo or another login") on \(pam.host)"
        }
        return "Sign in to \(relyingParty)"
    }

    /// Returns the name of a local service; `nil` if the RP ID does not begin with the prefix.
    private static func name(_ relyingParty: String, after prefix: String) -> String? {
        relyingParty.hasPrefix(prefix) ? String(relyingParty.dropFirst(prefix.count)) : nil
    }

    /// Returns the host and the PAM service in an RP ID of pam_u2f; `nil` for another ID.
    private static func pam(_ relyingParty: String) -> (host: String, service: String?)? {
        guard let names = name(relyingParty, after: "pam://")?.split(separator: "/", maxSplits: 1).map(String.init)
        else { return nil }
        return names.first.map { ($0, names.dropFirst().first) }
    }

    /// Returns a phrase for a key of OpenSSH, whose name may be empty.
    private static func sshKey(_ name: String) -> String { name.isEmpty ? "an SSH key" : "the SSH key \(name)" }

    /// Returns the purpose of a request for a website in a browser on another host, and the way to it.
    ///
    /// The operation and the site come first, because they decide what the phone signs.
    func remote(_ operation: String) throws(PromptInputError) -> (String, [String]) {
        let hosts = try hosts()
        guard let asker = hosts.last else { throw .unusableRequest }
        // A page of another domain may use this one's passkeys only if the domain permits that.
        let page = event.member("origin") == nil ? [] : ["For the page \(try origin())"]
        return ("\(operation) \(try domain()), requested by \(asker.phrase)", page + Self.path(hosts.dropLast()))
    }

    /// Returns the limits of what this computer knows about a request of another host, and what that host can do.
    func cautions() throws(PromptInputError) -> [String] {
        let site = try domain()
        guard let asker = try hosts().last else { throw .unusableRequest }
        let there = asker.isFingerprint ? "that host" : asker.phrase
        let secret = """
            The site also gets a secret of the passkey; \
            anyone who controls \(there) can then read what the site encrypts with it
            """
        return ["Continue only if you have \(site) open in a browser on \(there); this computer can't check that"]
            + (try flag("secret") ? [secret] : [])
            + ["Your phone proves that it is near this computer, not near \(there)"]
    }

    /// Maximum number of hosts of a request.
    private static let maximumHosts = 16
    /// Maximum number of hosts on the way that are named, so that the text fits on a screen.
    private static let maximumNames = 4

    /// Returns the line about the hosts on the way, if there are any.
    private static func path(_ hosts: ArraySlice<Host>) -> [String] {
        guard !hosts.isEmpty else { return [] }
        let names = hosts.prefix(maximumNames).map(\.phrase).joined(separator: ", then ")
        let rest = hosts.count - maximumNames
        return ["Through \(names)" + (rest > 0 ? ", and \(rest) more" : "")]
    }

    /// A host with a forwarded SSH agent.
    private struct Host {
        /// The name or the fingerprint of the host key, as a part of a sentence.
        let phrase: String
        /// True if the host has no name here.
        let isFingerprint: Bool
    }

    /// Returns the hosts of a request, nearest first; the last one is its sender.
    private func hosts() throws(PromptInputError) -> [Host] {
        guard let elements = event.member("hosts")?.elements, (1...Self.maximumHosts).contains(elements.count)
        else { throw .unusableRequest }
        var hosts: [Host] = []
        for element in elements {
            guard let text = element.text else { throw .unusableRequest }
            // A name must not pass for a fingerprint.
            let isFingerprint = text.hasPrefix("SHA256:")
            guard isFingerprint ? Self.isFingerprint(text) : Self.isVisible(text) else { throw .unusableRequest }
            let phrase = isFingerprint ? "the host with key \(text)" : text
            hosts.append(Host(phrase: phrase, isFingerprint: isFingerprint))
        }
        return hosts
    }

    /// Returns the RP ID of a website.
    ///
    /// Those of local services have further characters, and no other host may use them.
    private func domain() throws(PromptInputError) -> String {
        let identifier = try relyingParty()
        let isDomain = identifier.utf8.allSatisfy { byte in
            Character(Unicode.Scalar(byte)).isASCIIAlphanumeric || ".-_".utf8.contains(byte)
        }
        guard isDomain else { throw .unusableRequest }
        return identifier
    }

    /// Returns a member that may be absent; another value than `true` or `false` could hide what the user must know.
    func flag(_ member: String) throws(PromptInputError) -> Bool {
        guard let value = event.member(member) else { return false }
        guard let flag = value.boolean else { throw .unusableRequest }
        return flag
    }

    func login() throws(PromptInputError) -> (String, [String]) {
        guard let user = quoted("user") else { throw .unusableRequest }
        let host = try visible("host").map { "to \($0) " } ?? ""
        let strength = event.member("weak")?.boolean == true ? "Weak host key" : "Host key"
        let hostKey = try fingerprint().map { "\(strength) \($0)" }
        return (
            "Sign in \(host)\(try byKey())",
            ["User \(user)", hostKey ?? "The host is unknown; another computer might have sent this request"]
                + (try certificate()) + (try common())
        )
    }

    /// Returns the lines about a certificate, of which only the server verifies the authority.
    private func certificate() throws(PromptInputError) -> [String] {
        guard let authority = try fingerprint("authority") else { return [] }
        guard let principals = event.member("principals")?.text, principals.utf8.count <= 512,
            principals.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 >= 0x80 })
        else { throw .unusableRequest }
        return ["Certificate for \(principals), of the authority \(authority)"]
    }

    func signature() throws(PromptInputError) -> (String, [String]) {
        guard let namespace = event.member("namespace")?.text else { throw .unusableRequest }
        let purpose = namespace == "git" ? "git" : SafeText(quoting: namespace).description
        return ("Sign for \(purpose) \(try byKey())", try common())
    }

    /// Returns the purpose of a signature that proves which phone has a key, so that this phone can be linked.
    func link() throws(PromptInputError) -> (String, [String]) {
        guard let key = quoted("key") else { throw .unusableRequest }
        let fingerprint = try fingerprint().map { ["Key \($0)"] } ?? []
        return ("Link the phone that has ssh key \(key)", fingerprint + (try common()))
    }

    /// A program of the user can make such a request at any time, and the phone can't tell which one did.
    private static let anyProgram = "Any program of yours may have asked"

    /// Returns the purpose of a request that concerns an encryption key.
    func encryptionKey(_ operation: String) throws(PromptInputError) -> (String, [String]) {
        guard let key = quoted("key") else { throw .unusableRequest }
        return ("\(operation) \(key)", ["Passkey of \(try domain())"])
    }

    /// Returns the purpose of a request for an encryption key, and what it is opened for.
    func openedKey() throws(PromptInputError) -> (String, [String]) {
        let (purpose, passkey) = try encryptionKey("Open the key")
        guard event.member("purpose") != nil else { return (purpose, passkey + [Self.anyProgram]) }
        guard let use = quoted("purpose") else { throw .unusableRequest }
        return (purpose, ["For \(use)"] + passkey + [Self.anyProgram])
    }

    /// Returns the purpose of a request for the secret of a passkey that encrypts or decrypts one file.
    func file(_ operation: String) throws(PromptInputError) -> (String, [String]) {
        ("\(operation) a file with the passkey of \(try domain())", [Self.anyProgram])
    }

    /// Returns the purpose of a request for the secret of a passkey that decrypts one file, and the number of the attempt.
    ///
    /// A file does not name its passkey, so several may have to be tried.
    func decryption() throws(PromptInputError) -> (String, [String]) {
        let (purpose, details) = try file("Decrypt")
        guard event.member("attempt") != nil || event.member("attempts") != nil else { return (purpose, details) }
        guard let attempt = event.member("attempt")?.integer(), let attempts = event.member("attempts")?.integer(),
            1 <= attempt, attempt <= attempts, attempts <= Self.maximumAttempts
        else { throw .unusableRequest }
        let count = "Attempt \(attempt) of \(attempts): the file does not say which passkey opens it"
        return (purpose, (attempts > 1 ? [count] : []) + details)
    }

    /// Maximum number of passkeys that are tried for a file.
    private static let maximumAttempts = 1000

    private func byKey() throws(PromptInputError) -> String {
        guard let key = quoted("key") else { throw .unusableRequest }
        return "by ssh key \(key)"
    }

    private func common() throws(PromptInputError) -> [String] {
        let isForwarded = event.member("forwarded")?.boolean == true
        return (isForwarded ? ["Sent by another computer through agent forwarding"] : [])
            + ["Passkey of \(try relyingParty())"]
    }

    private func quoted(_ member: String) -> String? {
        event.member(member)?.text.map { SafeText(quoting: $0).description }
    }

    /// Returns an identifier of 1 to 253 visible ASCII characters without quotation marks; `nil` if it is absent.
    private func visible(_ member: String) throws(PromptInputError) -> String? {
        guard let text = event.member(member)?.text else { return nil }
        guard Self.isVisible(text) else { throw .unusableRequest }
        return text
    }

    private static func isVisible(_ text: String) -> Bool {
        let allowed = text.utf8.allSatisfy { byte in
            Character(Unicode.Scalar(byte)).isASCIIAlphanumeric || ".:-_/[]%".utf8.contains(byte)
        }
        return allowed && (1...253).contains(text.utf8.count)
    }

    /// Returns a fingerprint as OpenSSH prints it, `SHA256:` and 43 characters of base64; `nil` if it is absent.
    private func fingerprint(_ member: String = "fingerprint") throws(PromptInputError) -> String? {
        guard let text = event.member(member)?.text else { return nil }
        guard Self.isFingerprint(text) else { throw .unusableRequest }
        return text
    }

    private static func isFingerprint(_ text: String) -> Bool {
        let digest = text.utf8.dropFirst(7)
        let isBase64 = digest.allSatisfy { byte in
            Character(Unicode.Scalar(byte)).isASCIIAlphanumeric || "+/".utf8.contains(byte)
        }
        return text.hasPrefix("SHA256:") && digest.count == 43 && isBase64
    }
}

extension Character {
    fileprivate var isASCIIAlphanumeric: Bool { isASCII && (isLetter || isNumber) }
}

/// A reason why the input cannot be shown.
public struct PromptInputError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A request lacks a member, or has one in an unexpected form.
    public static let unusableRequest = PromptInputError("the request can't be shown safely")
    /// The text of the code is not that of a sign-in, or too long.
    public static let unusableCode = PromptInputError("the code can't be drawn")

    /// The cause.
    public let description: String

    private init(_ description: String) { self.description = description }
}
