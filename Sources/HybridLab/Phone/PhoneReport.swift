// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads
internal import HybridWebAuthn

/// What the lab's phone saw and did: lines for a person on standard error, or JSON on standard output, an object a line.
final class PhoneReport: Sendable {
    private let isJSON: Bool
    private let begun = ContinuousClock.now
    private let ceremony = Locked(0)
    private let isLost = Locked(false)

    init(json: Bool) { isJSON = json }

    /// Whether whoever reads it has got all of it.
    var isComplete: Bool { isLost.withLock { !$0 } }

    /// A code was read; what follows belongs to its ceremony.
    func code(_ offer: QROffer, _ script: PhoneScript) {
        let number = ceremony.withLock { number in
            number += 1
            return number
        }
        let age = offer.age(at: WallClock.realtime.now()).map { JSONText.number(Int($0)) } ?? .null
        let hint = offer.hint == .makeCredential ? "makeCredential" : "getAssertion"
        tell(
            "code",
            "\(number). code read (\(hint == "makeCredential" ? "to register" : "to sign in")); the script is \(script.text)",
            [
                ("script", .text(script.text)), ("hint", .text(hint)), ("age_s", age),
                ("offers_linking", .boolean(offer.supportsLinking == true)),
                ("channels", .list(offer.channels.map { .number($0.rawValue) })),
            ]
        )
    }

    func tunnel(_ domain: TunnelDomain) {
        tell("tunnel", "tunnel open at \(domain.host)", [("relay", .text(domain.host))])
    }

    func advertising() { tell("advertising", "advert on the air") }

    func connected() { tell("connected", "the desktop has heard it and proved that") }

    /// A request, with all that a website's developer may want to look at.
    func request(_ request: CTAPRequest?) {
        guard let request else { return tell("request", "a request that can't be read", [("command", .null)]) }
        let facts = RequestFacts(request)
        tell("request", facts.sentence, facts.fields)
    }

    func person(_ what: String) { tell("person", what, [("did", .text(what))]) }

    func answer(_ status: CTAPStatus) {
        let hexadecimal = "0x" + (status.rawValue < 16 ? "0" : "") + String(status.rawValue, radix: 16, uppercase: true)
        tell(
            "answer",
            "answered \(hexadecimal), \(status.meaning)",
            [("status", .number(Int(status.rawValue))), ("meaning", .text(status.meaning))]
        )
    }

    /// The script did harm.
    func fault(_ what: String) { tell("fault", "the script: \(what)", [("fault", .text(what))]) }

    func end(_ ending: PhoneOutcome) { tell("end", ending.sentence, [("ending", .text(ending.rawValue))]) }

    func failure(_ failure: CommandFailure) {
        guard isJSON, isComplete else {
            return StandardError.writeLine("\(HybridLab.programName): \(failure.sentence)")
        }
        write(
            "error",
            [
                ("code", .text(failure.code)), ("message", .text(failure.message)),
                ("remedy", .text(failure.remedy ?? "")),
            ]
        )
    }

    private func tell(_ event: String, _ sentence: String, _ fields: [(String, JSONText)] = []) {
        guard !isJSON else { return write(event, fields) }
        StandardError.writeLine("phone: \(sentence)")
    }

    private func write(_ event: String, _ fields: [(String, JSONText)]) {
        let milliseconds = Int((ContinuousClock.now - begun) / .milliseconds(1))
        let number = ceremony.withLock { $0 }
        let object = JSONText.object(
            [("event", .text(event)), ("ceremony", .number(number)), ("elapsed_ms", .number(milliseconds))] + fields
        )
        guard !StandardOutput.writeLine(Array(object.description.utf8)) else { return }
        isLost.withLock { $0 = true }
    }
}

/// How a ceremony of the lab's phone ended.
enum PhoneOutcome: String, Sendable {
    /// The desktop said goodbye.
    case goodbye
    /// The desktop closed the tunnel.
    case left
    /// The desktop went away while it was being answered.
    case leftDuringRequest = "left-during-request"
    /// The script closed the tunnel.
    case dropped
    /// The script cut the connection to the relay.
    case vanished
    /// The script said nothing more, and the desktop waited for longer than the phone.
    case hung

    var sentence: String {
        switch self {
        case .goodbye: "done: the desktop said goodbye"
        case .left: "done: the desktop closed the tunnel"
        case .leftDuringRequest: "the desktop went away before it was answered"
        case .dropped: "done: the script closed the tunnel"
        case .vanished: "done: the script cut the connection"
        case .hung: "done: the desktop waits still"
        }
    }
}

/// What stands in a request.
private struct RequestFacts {
    let sentence: String
    let fields: [(String, JSONText)]

    init(_ request: CTAPRequest) {
        switch request {
        case .makeCredential(let request):
            sentence = "asked to create a passkey for \(request.relyingParty.id.text)"
            fields = [
                ("command", .text("makeCredential")), ("rp_id", .text(request.relyingParty.id.text)),
                ("rp_name", .text(request.relyingParty.name)),
                (
                    "user",
                    .object([
                        ("id", Self.base64URL(request.user.id.bytes)), ("name", .text(request.user.name)),
                        ("display_name", .text(request.user.displayName)),
                    ])
                ),
                ("algorithms", .list(request.algorithms.map { .number($0.rawValue) })),
                ("resident_key", .boolean(request.residentKey)),
                ("user_verification", .boolean(request.userVerification)),
                ("exclude", .list(request.excludeList.map { Self.base64URL($0.id.bytes) })),
                ("extensions", Self.names(request.extensions)),
                ("attestation_formats", .list(request.attestationFormats.map(JSONText.text))),
                ("client_data_hash", Self.base64URL(request.clientDataHash.bytes)),
            ]
        case .getAssertion(let request):
            sentence = "asked to sign in to \(request.relyingPartyID.text)"
            fields = [
                ("command", .text("getAssertion")), ("rp_id", .text(request.relyingPartyID.text)),
                ("allow", .list(request.allowList.map { Self.base64URL($0.id.bytes) })),
                ("user_presence", .boolean(request.userPresence)),
                ("user_verification", .boolean(request.userVerification)),
                ("extensions", Self.names(request.extensions)),
                ("client_data_hash", Self.base64URL(request.clientDataHash.bytes)),
            ]
        case .getInfo: (sentence, fields) = ("asked what it can", [("command", .text("getInfo"))])
        case .selection: (sentence, fields) = ("asked to be selected", [("command", .text("selection"))])
        }
    }

    private static func names(_ extensions: CBORMap?) -> JSONText {
        .list((extensions?.keys ?? []).compactMap(\.text).map(JSONText.text))
    }

    private static func base64URL(_ bytes: [UInt8]) -> JSONText { .text(Base64URL.encode(bytes)) }
}
