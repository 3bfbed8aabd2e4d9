// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// A question that can't be shown; it is declined.
enum SheetQuestionError: Error {
    /// A member is absent, of another type, or would look like something else.
    case unusable
    /// The kind is one of a later version.
    case unknownKind
}

/// A question of hybrid-auth, read from a line.
struct SheetQuestion {
    /// The form of the answer.
    enum Answer {
        /// Agreement, without more.
        case agreement
        /// Agreement, with a name if one is typed.
        case namedAgreement
        /// One of the accounts.
        case account
        /// A text, as the named member.
        case text(member: String, maximumBytes: Int)
        /// A text that is typed twice, with a least number of characters.
        case newText(member: String, minimum: Int, maximumBytes: Int)
        /// Agreement after groups of the code are typed.
        case writtenDown
    }

    let number: Int
    let timeout: Duration?
    let answer: Answer
    let content: SheetContent

    /// Creates a question.
    ///
    /// - Parameters:
    ///   - question: The line.
    ///   - number: The number, which the line has.
    /// - Throws: ``SheetQuestionError`` if it is to be declined.
    init(_ question: JSONText, number: Int) throws(SheetQuestionError) {
        self.number = number
        let seconds = question.member("timeout")?.integer(Int.self) ?? 0
        timeout = (1...86_400).contains(seconds) ? .seconds(seconds) : nil
        let site = try SheetSite(question)
        switch question.member("kind")?.text {
        case "pin":
            answer = .text(member: "pin", maximumBytes: Self.maximumPIN)
            content = try .pin(question, site)
        case "new-pin":
            let minimum = try question.count("minimum", 1...Self.maximumNewPIN)
            answer = .newText(member: "pin", minimum: minimum, maximumBytes: Self.maximumNewPIN)
            content = try .newPIN(question, minimum)
        case "secret":
            answer = .text(member: "secret", maximumBytes: Self.maximumSecret)
            content = try .secret(question)
        case "new-secret":
            answer = .newText(member: "secret", minimum: 1, maximumBytes: Self.maximumSecret)
            content = try .newSecret(question)
        case "account":
            answer = .account
            content = try .accounts(question, site.required())
        case "create":
            answer = .agreement
            content = try .creation(question, site.required())
        case "notice":
            answer = .agreement
            content = try .notice(question, site.required())
        case "delete":
            answer = .agreement
            content = try .deletion(question, site.required())
        case "link":
            answer = .namedAgreement
            content = try .link(question)
        case "opened-link":
            answer = .agreement
            content = try .openedLink(question)
        case "recovery-code":
            answer = .writtenDown
            content = try .recoveryCode(question)
        case "question":
            answer = .agreement
            content = try .words(question)
        default: throw .unknownKind
        }
    }

    private static let maximumPIN = 255
    private static let maximumNewPIN = 63
    private static let maximumSecret = 1024
    /// Maximum length of a computer's name in bytes.
    static let maximumName = 128
}

extension SheetSite? {
    /// Returns the site of a question that must have one.
    fileprivate func required() throws(SheetQuestionError) -> SheetSite {
        guard let self else { throw .unusable }
        return self
    }
}

extension JSONText {
    /// Returns a member that is a text.
    func required(_ name: String) throws(SheetQuestionError) -> String {
        guard let text = member(name)?.text else { throw .unusable }
        return text
    }

    /// Returns a member that may be absent; another value than `true` or `false` could hide what the user must know.
    func flag(_ name: String) throws(SheetQuestionError) -> Bool {
        guard let value = member(name) else { return false }
        guard let flag = value.boolean else { throw .unusable }
        return flag
    }

    /// Returns a member that is a number within limits.
    func count(_ name: String, _ range: ClosedRange<Int>) throws(SheetQuestionError) -> Int {
        guard let number = member(name)?.integer(Int.self), range.contains(number) else { throw .unusable }
        return number
    }

    /// Returns a member that is a list within limits.
    func list(_ name: String, _ range: ClosedRange<Int>) throws(SheetQuestionError) -> [JSONText] {
        guard let elements = member(name)?.elements, range.contains(elements.count) else { throw .unusable }
        return elements
    }
}
