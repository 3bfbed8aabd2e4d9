// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCaBLE

/// The behavior of the lab's phone in one ceremony: the answer of the user, and faults of the phone.
struct PhoneScript: Sendable {
    /// The answer of the user.
    enum User: String, Sendable, CaseIterable {
        case approve
        case deny
        /// The user types a wrong PIN until the phone rejects the request.
        case wrongPIN = "wrong-uv"
        /// The phone claims to have no passkey for the site.
        case noCredentials = "no-credentials"
        /// The phone claims to have a passkey that the site excludes.
        case excluded
        /// The user declines the notification of a wake-up.
        case declineTap = "decline-tap"
        /// The user does not react to the notification of a wake-up.
        case ignoreTap = "ignore-tap"
    }

    /// A stage of a ceremony; the cases are in order.
    enum Stage: String, Sendable, CaseIterable {
        /// The tunnel is open.
        case tunnel
        /// The advert is being sent.
        case advert
        /// The client's first message was received.
        case handshake
        /// The phone has completed the handshake and sent its capabilities.
        case introduction
        /// The request was received.
        case request
        /// The response was sent.
        case answer
    }

    /// A fault of the phone.
    enum Fault: Sendable, Equatable {
        /// The phone closes its tunnel after this stage.
        case drop(Stage)
        /// The phone cuts the connection after this stage.
        case vanish(Stage)
        /// The phone stops responding after this stage and stays connected.
        case hang(Stage)
        /// The phone changes one bit of the message that it sends at this stage.
        case corrupt(Stage)
    }

    var user = User.approve
    /// The time until the user answers.
    var wait = Duration.zero
    /// The number of the account that the user selects, counted from 1.
    var pick = 1
    /// The delay before each message that the phone sends.
    var delay = Duration.zero
    var fault: Fault?
    /// True if a second phone scans the same code.
    var hasTwin = false
    /// True if the phone offers the client a link.
    var offersLink = false
    /// True if a suffix of 4 bytes follows the 20 bytes of the advert.
    var hasLongAdvert = false
    /// The way in which `prf` falls short; `nil` if it does not.
    var prf: ScriptedPRF?
    /// The error that the wallet reports instead of presenting a digital credential.
    var refusal: String?
    /// The bytes that the wallet sends as its reply.
    var reply: [UInt8]?
    /// True if the phone has no wallet.
    var hasNoWallet = false
    /// The script as it was written.
    private(set) var text = User.approve.rawValue

    /// Creates a script of a user who approves, without faults.
    init() {}

    /// Creates a script from steps separated by commas, such as `wait:2,deny`.
    ///
    /// - Throws: `ValidationError` with a sentence for users.
    init(parsing text: String) throws {
        self.text = text
        var names: Set<String> = []
        for step in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = step.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts[0]
            let kind = User(rawValue: name) == nil ? name : "user"
            guard names.insert(kind).inserted else {
                throw mistake(kind == "user" ? "the user can answer in one way only" : "\(name) appears twice")
            }
            try apply(name, parts.count > 1 ? parts[1] : nil)
        }
        if names.intersection(["drop", "vanish", "hang", "corrupt"]).count > 1 {
            throw mistake("one of drop, vanish, hang and corrupt is enough")
        }
        if hasTwin, needsOwnSession || offersLink {
            throw mistake("two-phones can be combined with answers of the user only")
        }
        if [refusal != nil, reply != nil, hasNoWallet, user == .deny].count(where: { $0 }) > 1 {
            throw mistake("one of deny, error, reply and no-wallet is enough")
        }
        if offersLink, needsOwnSession { throw mistake("link can be combined with answers of the user only") }
    }

    /// True if the script requires a ``ScriptedSession``, because `AuthenticatorSession` cannot run it.
    var needsOwnSession: Bool { fault != nil || delay > .zero || hasLongAdvert }

    /// The response of the phone to `authenticatorGetInfo`.
    var capabilities: AuthenticatorInfo { prf?.capabilities(Authenticator.info) ?? Authenticator.info }

    private mutating func apply(_ name: String, _ value: String?) throws {
        switch (name, value) {
        case ("two-phones", nil): hasTwin = true
        case ("advert-24", nil): hasLongAdvert = true
        case ("link", nil): offersLink = true
        case ("no-wallet", nil): hasNoWallet = true
        case ("error", let name?):
            guard (1...64).contains(name.utf8.count) else { throw mistake("error takes a name such as NO_CREDENTIAL") }
            refusal = name
        case ("reply", let path?): reply = try contents(path)
        case ("prf", let value?):
            guard let prf = ScriptedPRF(rawValue: value) else {
                throw mistake("prf takes \(ScriptedPRF.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            self.prf = prf
        case ("slow", nil): delay = .seconds(1)
        case ("slow", let value?): delay = try seconds(value, of: name)
        case ("wait", let value?): wait = try seconds(value, of: name)
        case ("pick", let value?):
            guard let number = Int(value), (1...1000).contains(number) else {
                throw mistake("pick takes the number of an account, from 1")
            }
            pick = number
        case ("drop", let value?): fault = .drop(try stage(value, of: name))
        case ("vanish", let value?): fault = .vanish(try stage(value, of: name))
        case ("hang", let value?): fault = .hang(try stage(value, of: name))
        case ("corrupt", let value?):
            fault = .corrupt(try stage(value, of: name, among: [.handshake, .introduction, .answer]))
        case ("two-phones", _), ("advert-24", _), ("link", _), ("no-wallet", _): throw mistake("\(name) takes no value")
        default:
            if let example = Self.examples[name] { throw mistake("\(name) takes a value, as in \(example)") }
            guard let user = User(rawValue: name) else {
                throw mistake("\"\(name)\" is not a step; the steps are \(Self.steps)")
            }
            guard value == nil else { throw mistake("\(name) takes no value") }
            self.user = user
        }
    }

    /// All steps, for error messages.
    static let steps =
        "approve, deny, wrong-uv, no-credentials, excluded, decline-tap, ignore-tap, wait:SECONDS, pick:NUMBER, slow[:SECONDS], "
        + "drop:STAGE, vanish:STAGE, hang:STAGE, corrupt:STAGE, two-phones, advert-24, "
        + "prf:FAULT, link, error:NAME, reply:FILE, no-wallet"

    private static let examples = [
        "wait": "wait:2.5", "pick": "pick:2", "drop": "drop:request", "vanish": "vanish:request",
        "hang": "hang:advert", "corrupt": "corrupt:answer", "prf": "prf:absent",
        "error": "error:NO_CREDENTIAL", "reply": "reply:reply.json",
    ]

    private func seconds(_ text: String, of name: String) throws -> Duration {
        guard let number = Double(text), number >= 0, number <= 600 else {
            throw mistake("\(name) takes 0 to 600 seconds")
        }
        return .milliseconds(Int(number * 1000))
    }

    /// Returns the contents of a file, which must fit into one message.
    private func contents(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw mistake("\(path) can't be read: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: ChannelMessage.maximumBodyLength + 1)
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress?.advanced(by: length), $0.count - length)
            }
            guard count >= 0 else { throw mistake("\(path) can't be read: \(String(cString: strerror(errno)))") }
            guard count > 0 else { return Array(bytes[..<length]) }
            length += count
        }
        throw mistake("\(path) is longer than one message, \(ChannelMessage.maximumBodyLength) bytes")
    }

    private func stage(_ text: String, of name: String, among stages: [Stage] = Stage.allCases) throws -> Stage {
        guard let stage = Stage(rawValue: text), stages.contains(stage) else {
            throw mistake("\(name) takes \(stages.map(\.rawValue).joined(separator: ", "))")
        }
        return stage
    }

    private func mistake(_ sentence: String) -> ValidationError {
        ValidationError("--script \(text): \(sentence).")
    }
}
