// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads
internal import HybridWebAuthn

/// The report of the lab's phone: text on standard error, or JSON on standard output with one object per line.
final class PhoneReport: Sendable {
    private let isJSON: Bool
    private let start = ContinuousClock.now
    private let ceremony = Locked(0)
    private let isLost = Locked(false)

    init(json: Bool) { isJSON = json }

    /// True if the whole report has been written.
    var isComplete: Bool { isLost.withLock { !$0 } }

    /// Reports a scanned QR code and begins its ceremony, to which later events belong.
    func code(_ offer: QROffer, _ script: PhoneScript) {
        let number = nextCeremony()
        let age = offer.age(at: WallClock.realtime.now()).map { JSONText.number(Int($0)) } ?? .null
        let (hint, verb) =
            switch offer.hint {
            case .makeCredential: ("makeCredential", "to register")
            case .getAssertion: ("getAssertion", "to sign in")
            case .presentCredential: ("presentCredential", "to present a digital credential")
            case .issueCredential: ("issueCredential", "to issue a digital credential")
            }
        report(
            "code",
            "\(number). code read (\(verb)); the script is \(script.text)",
            [
                ("script", .string(script.text)), ("hint", .string(hint)), ("age_s", age),
                ("offers_linking", .boolean(offer.supportsLinking == true)),
                ("channels", .array(offer.channels.map { .number($0.rawValue) })),
            ]
        )
    }

    private func nextCeremony() -> Int {
        ceremony.withLock { number in
            number += 1
            return number
        }
    }

    /// Reports a wake-up of a linked client, about which the user is asked, and begins its ceremony.
    func wakeUp(from label: String, _ hint: RequestHint, _ script: PhoneScript) {
        let number = nextCeremony()
        let verb = hint == .makeCredential ? "to register" : "to sign in"
        report(
            "wake-up",
            "\(number). woken by \(SafeText(quoting: label)) (\(verb)); the script is \(script.text)",
            [
                ("script", .string(script.text)), ("client", .string(label)),
                ("hint", .string(hint == .makeCredential ? "makeCredential" : "getAssertion")),
            ]
        )
    }

    /// Reports the answer to a wake-up, or the reason why the user was not asked.
    func wakeUpEvent(_ event: WakeUpHandler.Event) {
        switch event {
        case .asking: break
        case .ignored(_, let reason): report("ignored", "ignored a wake-up: \(reason)", [("reason", .string(reason))])
        case .refused(_, let reason): report("refused", "declined a wake-up: \(reason)", [("reason", .string(reason))])
        case .answered(_, .approved): user("taps on the notification")
        case .answered(_, .declined): user("declines the notification")
        case .answered(_, .unanswered): user("does not react to the notification")
        case .muted(let label, _):
            report("muted", "the client is muted after three declines", [("client", .string(label))])
        }
    }

    /// Reports a change of the connection to a relay.
    func listenerEvent(_ event: LinkListeners.Event) {
        switch event {
        case .listening(let label, let host):
            report("listening", "listening at \(host)", [("client", .string(label)), ("relay", .string(host))])
        case .disconnected(_, let failure):
            report("disconnected", "not reachable: \(failure.sentence)", [("code", .string(failure.code))])
        case .cut(_, let host, let seconds): report("cut", "connections to \(host) end after about \(seconds) s")
        case .revoked(let label): report("revoked", "a link is revoked at the relay", [("client", .string(label))])
        case .unusable(let sentence): report("unusable", sentence, [("message", .string(sentence))])
        }
    }

    /// Stores a link that was sent, and reports that.
    func linked(_ link: PhoneLink, in links: LabLinks) {
        do throws(CommandFailure) {
            try links.save(link, label: "Lab client")
            report("linked", "offered a link to the client")
        } catch {
            failure(error)
        }
    }

    func event(_ event: AuthenticatorEvent) {
        switch event {
        case .tunnelOpen(let domain):
            report("tunnel", "tunnel open at \(domain.host)", [("relay", .string(domain.host))])
        case .advertising: report("advertising", "advertising over Bluetooth")
        case .clientVerified: report("connected", "the client has proved that it received the advert")
        case .request(nil): request(nil)
        case .answered(let status): answer(status)
        case .credentialAnswered: report("answer", "sent the wallet's reply")
        // A virtual radio has no L2CAP channels, and the lab's relay does not redirect.
        case .redirected, .request, .credentialRequested, .listeningByRadio, .radioBusy, .radioChannelFailed,
            .relayUnusable, .linkOffered:
            break
        }
    }

    /// Reports a request with all fields that may interest a website's developer; `nil` is a request that cannot be
    /// parsed.
    func request(_ request: CTAPRequest?) {
        guard let request else { return report("request", "an unreadable request", [("command", .null)]) }
        let (sentence, fields) = summary(request)
        report("request", sentence, fields)
    }

    /// Reports a request for a digital credential.
    func request(_ request: DigitalCredentialRequest) {
        let fields: [(String, JSONText)] = [
            ("command", .string(request.operation.rawValue)), ("origin", .string(request.origin)),
            ("protocols", .array(request.protocols.map(JSONText.string))),
        ]
        let verb = request.operation == .issuance ? "accept" : "present"
        report("request", "asked to \(verb) a digital credential for \(SafeText(quoting: request.origin))", fields)
    }

    func user(_ action: String) { report("person", action, [("did", .string(action))]) }

    private func answer(_ status: CTAPStatus) {
        let hexadecimal = "0x" + (status.rawValue < 16 ? "0" : "") + String(status.rawValue, radix: 16, uppercase: true)
        let fields: [(String, JSONText)] = [
            ("status", .number(Int(status.rawValue))), ("meaning", .string(status.meaning)),
        ]
        report("answer", "answered \(hexadecimal), \(status.meaning)", fields)
    }

    /// Reports a fault that the script causes.
    func fault(_ fault: String) { report("fault", "the script \(fault)", [("fault", .string(fault))]) }

    func end(_ ending: PhoneOutcome) { report("end", ending.sentence, [("ending", .string(ending.rawValue))]) }

    func failure(_ failure: CommandFailure) {
        guard isJSON, isComplete else {
            return StandardError.writeLine("\(HybridLab.programName): \(failure.sentence)")
        }
        let fields = [("code", failure.code), ("message", failure.message), ("remedy", failure.remedy ?? "")]
        write("error", fields.map { ($0, .string($1)) })
    }

    private func summary(_ request: CTAPRequest) -> (sentence: String, fields: [(String, JSONText)]) {
        switch request {
        case .makeCredential(let request):
            let user = JSONText.object([
                ("id", .bytes(request.user.id.bytes)), ("name", .string(request.user.name)),
                ("display_name", .string(request.user.displayName)),
            ])
            let fields: [(String, JSONText)] = [
                ("command", .string("makeCredential")), ("rp_id", .string(request.relyingParty.id.text)),
                ("rp_name", .string(request.relyingParty.name)), ("user", user),
                ("algorithms", .array(request.algorithms.map { .number($0.rawValue) })),
                ("resident_key", .boolean(request.residentKey)),
                ("user_verification", .boolean(request.userVerification)),
                ("exclude", .array(request.excludeList.map { .bytes($0.id.bytes) })),
                ("extensions", names(request.extensions)),
                ("attestation_formats", .array(request.attestationFormats.map(JSONText.string))),
                ("client_data_hash", .bytes(request.clientDataHash.bytes)),
            ]
            return ("asked to create a passkey for \(request.relyingParty.id.text)", fields)
        case .getAssertion(let request):
            let fields: [(String, JSONText)] = [
                ("command", .string("getAssertion")), ("rp_id", .string(request.relyingPartyID.text)),
                ("allow", .array(request.allowList.map { .bytes($0.id.bytes) })),
                ("user_presence", .boolean(request.userPresence)),
                ("user_verification", .boolean(request.userVerification)),
                ("extensions", names(request.extensions)),
                ("client_data_hash", .bytes(request.clientDataHash.bytes)),
            ]
            return ("asked to sign in to \(request.relyingPartyID.text)", fields)
        case .getInfo: return ("asked for its capabilities", [("command", .string("getInfo"))])
        case .selection: return ("asked to be selected", [("command", .string("selection"))])
        }
    }

    private func names(_ extensions: CBORMap?) -> JSONText {
        .array((extensions?.keys ?? []).compactMap(\.text).map(JSONText.string))
    }

    private func report(_ event: String, _ sentence: String, _ fields: [(String, JSONText)] = []) {
        guard !isJSON else { return write(event, fields) }
        StandardError.writeLine("phone: \(sentence)")
    }

    private func write(_ event: String, _ fields: [(String, JSONText)]) {
        let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
        let number = ceremony.withLock { $0 }
        let object = JSONText.object(
            [("event", .string(event)), ("ceremony", .number(number)), ("elapsed_ms", .number(milliseconds))] + fields
        )
        guard (try? StandardOutput.writeLine(object.description)) == nil else { return }
        isLost.withLock { $0 = true }
    }
}

/// The outcome of a ceremony of the lab's phone.
enum PhoneOutcome: String, Sendable {
    /// The client sent a shutdown message.
    case shutDown = "goodbye"
    /// The client closed the tunnel.
    case clientLeft = "left"
    /// The client disconnected before it received the response.
    case clientLeftDuringRequest = "left-during-request"
    /// The script closed the tunnel.
    case dropped
    /// The script cut the connection to the relay.
    case vanished
    /// The script stopped responding, and the client was still waiting when the phone ended.
    case hung

    /// Creates the outcome of a session that the script did not interrupt.
    init(_ outcome: AuthenticatorOutcome) {
        self =
            switch outcome {
            case .shutDown: .shutDown
            case .clientLeft: .clientLeft
            case .clientLeftDuringRequest, .answerLost: .clientLeftDuringRequest
            }
    }

    var sentence: String {
        switch self {
        case .shutDown: "done: the client sent a shutdown message"
        case .clientLeft: "done: the client closed the tunnel"
        case .clientLeftDuringRequest: "the client disconnected before it was answered"
        case .dropped: "done: the script closed the tunnel"
        case .vanished: "done: the script cut the connection"
        case .hung: "done: the client is still waiting"
        }
    }
}
