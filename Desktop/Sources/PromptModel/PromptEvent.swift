// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridProgram
internal import HybridQRCode

/// An event of a ceremony, read from one line of its progress in JSON.
enum PromptEvent {
    /// A request, before anything else.
    case request(PromptRequest)
    /// The code of the request.
    case code(QRMatrix)
    /// A state of the ceremony.
    case stage(PromptStage)
    /// A permanent warning.
    case warning(String)
    /// A note about the current state; `nil` removes it.
    case note(String?)
    /// A linked phone can be contacted; the name is in quotation marks.
    case linkedPhone(String)
    /// A linked phone was not used, for this reason; the code follows.
    case contactFailed(String)
    /// A phone offers a link; the text says under which condition to accept it.
    case linkOffer(String)
    /// Some of the passkeys that another device gives, and the number of all.
    case passkeys([String], of: Int)
    /// A result besides the response, which the user is to read before the window closes.
    case result(String)
    /// The end without success.
    case failure(cause: String, remedy: String)

    /// Creates an event from a line; `nil` if the line is not one, or if its event is unknown.
    ///
    /// - Throws: ``PromptInputError`` if a request or a code cannot be shown.
    init?(_ line: SecretBytes) throws(PromptInputError) {
        var bytes = Array(line.memory)
        defer { SecretBytes.wipe(&bytes) }
        guard let event = try? JSONText(parsing: bytes) else { return nil }
        switch event.member("event")?.text {
        case "request": self = .request(try PromptRequest(event))
        case "qr": self = .code(try Self.code(event))
        case "linked-phone":
            guard let phone = event.member("phone")?.text else { return nil }
            self = .linkedPhone(SafeText(quoting: phone).description)
        case "state" where event.member("state")?.text == "link-failed":
            self = .contactFailed(Self.sentence(event, "message"))
        case "state":
            guard let stage = PromptStage(event) else { return nil }
            self = .stage(stage)
        case "notice":
            guard let notice = Self.notice(event) else { return nil }
            self = notice
        case "passkeys":
            guard let list = event.member("passkeys")?.elements, let total = event.member("of")?.integer(Int.self),
                total >= list.count
            else { return nil }
            self = .passkeys(list.map(Self.passkey), of: total)
        case "error":
            self = .failure(cause: Self.sentence(event, "message"), remedy: Self.sentence(event, "remedy"))
        default: return nil
        }
    }

    private static func code(_ event: JSONText) throws(PromptInputError) -> QRMatrix {
        guard let text = event.member("text")?.text, text.hasPrefix("FIDO:/") || text.hasPrefix("HYBRID:/"),
            let code = try? QRMatrix(text: text)
        else { throw .unusableCode }
        return code
    }

    private static func passkey(_ passkey: JSONText) -> String {
        let names = ["rpId", "userName"].map { passkey.member($0)?.text.map { SafeText(quoting: $0).description } }
        return "\(names[0] ?? "an unknown site"), account \(names[1] ?? "unknown")"
    }

    private static func notice(_ event: JSONText) -> PromptEvent? {
        let message = sentence(event, "message")
        return switch event.member("notice")?.text {
        case "virtual-radio", "unverified-bus": .warning(message)
        case "radio-lost", "bluetooth-channel-failed", "link-skipped", "session-locked", "vault-made": .note(message)
        case "not-linked", "old-iphone", "left-out", "different", "history-not-written", "partly-received",
            "not-confirmed":
            .result(message)
        case "radio-back": .note(nil)
        case "link-offer": linkOffer(event)
        default: nil
        }
    }

    /// Returns the offer of a link, which the user answers elsewhere; `nil` without a phone, or if its code is not one.
    private static func linkOffer(_ event: JSONText) -> PromptEvent? {
        guard let phone = event.member("phone")?.text else { return nil }
        var conditions: [String] = []
        if let code = event.member("link_code") {
            guard let digits = code.text, isLinkCode(digits) else { return nil }
            conditions.append("it shows the link code \(digits)")
        }
        // Without a known key, only the website knows whose phone has answered.
        if event.member("evidence")?.text != "verified" { conditions.append("the website accepted this sign-in") }
        let condition = conditions.isEmpty ? "" : " only if \(conditions.joined(separator: ", and only if "))"
        return .linkOffer(
            """
            Link \(SafeText(quoting: phone)), so that it needs no code next time?
            Answer yes\(condition), in the program that asks.
            """
        )
    }

    /// Returns true for six digits in two groups, such as `042 117`.
    private static func isLinkCode(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return groups.count == 2 && groups.allSatisfy { $0.count == 3 && $0.allSatisfy(digits.contains) }
    }

    /// Returns a text of the program as a sentence: one line, shortened, without characters that change its appearance.
    static func sentence(_ event: JSONText, _ member: String) -> String {
        let line = StandardError.oneLine(event.member(member)?.text ?? "")
        let isCut = line.unicodeScalars.count > maximumSentence
        let kept = isCut ? String(line.unicodeScalars.prefix(maximumSentence)) + "…" : line
        guard let first = kept.first, let last = kept.last else { return "" }
        return first.uppercased() + kept.dropFirst() + (".…?!".contains(last) ? "" : ".")
    }

    /// Maximum length of a sentence in characters (Unicode scalars).
    static let maximumSentence = 400
}

extension PromptStage {
    /// Creates a state; `nil` if it is unknown.
    init?(_ event: JSONText) {
        switch event.member("state")?.text {
        case "use-phone": self = .question
        case "contacting": self = .contacting(event.member("phone")?.text.map { SafeText(quoting: $0).description })
        case "scan": self = .scan
        case "phone-found", "giver-found": self = .phoneFound
        case "connecting": self = .connecting
        case "connecting-by-bluetooth", "connected-by-bluetooth": self = .connecting
        case "confirm": self = .confirm
        case "digits":
            guard let digits = event.member("digits")?.text, let peer = event.member("peer")?.text,
                digits.utf8.count == 6, digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            else { return nil }
            self = .comparing("\(digits.prefix(3)) \(digits.suffix(3))", with: SafeText(quoting: peer).description)
        case "stored":
            guard let (count, total) = Self.counts(event, "count") else { return nil }
            self = .stored(count, of: total)
        case "waiting-for-files":
            guard let (count, total) = Self.counts(event, "arrived") else { return nil }
            self = .awaitingFiles(count, of: total)
        case "done": self = .done
        default: return nil
        }
    }

    /// Returns how many of all there are.
    private static func counts(_ event: JSONText, _ member: String) -> (Int, Int)? {
        guard let count = event.member(member)?.text.flatMap({ Int($0) }), count >= 0,
            let total = event.member("of")?.text.flatMap({ Int($0) }), count <= total
        else { return nil }
        return (count, total)
    }
}
