// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridProgram
internal import HybridTranslation

/// Texts made safe, and words that several questions share.
enum SheetText {
    /// Maximum length of a text from hybrid-auth in characters (Unicode scalars).
    static let maximumLength = 2000

    /// Returns a name in quotation marks.
    static func quoted(_ name: String) -> String { SafeText(quoting: name).description }

    /// Returns the lines of a text from hybrid-auth, shortened, without characters that change its appearance.
    static func lines(_ text: String) -> [String] {
        let isCut = text.unicodeScalars.count > maximumLength
        let kept = isCut ? String(text.unicodeScalars.prefix(maximumLength)) + "…" : text
        return kept.unicodeScalars.split(separator: "\n").map { line in
            StandardError.oneLine(String(String.UnicodeScalarView(line))).trimmingSpaces
        }.filter { !$0.isEmpty }
    }

    /// Returns a text from hybrid-auth as one sentence; empty if it is.
    static func sentence(_ text: String) -> String {
        let line = lines(text.replacing("\n", with: " ")).first ?? ""
        guard let first = line.first, let last = line.last else { return "" }
        return first.uppercased() + line.dropFirst() + (".…?!".contains(last) ? "" : ".")
    }

    /// Returns a host, such as that of a relay, which may be a part of a sentence.
    static func host(_ name: String) throws(SheetQuestionError) -> String {
        guard isHost(name) else { throw .unusable }
        return name
    }

    /// Returns true for a name of lower-case letters, digits and `-._:[]`, which can't be confused with other text.
    static func isHost(_ name: String) -> Bool {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "-._:[]".utf8.contains(byte)
            }
        }
        return isPlain && (1...253).contains(name.utf8.count)
    }

    /// Returns an age in words.
    static func age(_ seconds: Int) -> String {
        switch seconds {
        case ..<120: tr("{count} second", plural: "{count} seconds", count: max(0, seconds))
        case ..<7200: tr("{count} minute", plural: "{count} minutes", count: seconds / 60)
        case ..<172_800: tr("{count} hour", plural: "{count} hours", count: seconds / 3600)
        default: tr("{count} day", plural: "{count} days", count: seconds / 86_400)
        }
    }

    /// Returns the text about a warning of a request; an unknown one is named by its code.
    static func warning(_ code: String, age seconds: Int?) -> String {
        switch code {
        case "virtual-radio": return tr("Virtual radio: nothing proves that the other device is near.")
        case "old-code":
            guard let seconds else { return tr("Old code. Continue only if you just asked for it yourself.") }
            let values = ["age": age(seconds)]
            return tr("Old code, made {age} ago. Continue only if you just asked for it yourself.", values)
        default: return tr("Warning: {code}", ["code": code])
        }
    }

    /// Returns the text about the reason why a question is asked again; `nil` for none.
    ///
    /// - Parameters:
    ///   - problem: The member `problem`.
    ///   - minimum: The least length or strength, if the question has one.
    static func problem(_ problem: JSONText?, minimum: Int?, isPIN: Bool) -> String? {
        guard let problem else { return nil }
        switch problem.member("code")?.text {
        case "wrong":
            let wrong = isPIN ? tr("Wrong PIN.") : tr("Wrong passphrase or recovery code.")
            guard let left = problem.member("attemptsLeft")?.integer(Int.self) else { return wrong }
            let attempts = tr(
                "{count} attempt is left before a delay.",
                plural: "{count} attempts are left before a delay.",
                count: left
            )
            return "\(wrong) \(attempts)"
        case "key-replaced": return tr("The vault has a new key now. Type the PIN.")
        case "empty": return isPIN ? tr("Type the PIN.") : tr("Type the passphrase or the recovery code.")
        case "finger":
            let text = sentence(problem.member("message")?.text ?? "")
            return text.isEmpty ? tr("The finger was not recognized. Type the PIN.") : text
        case "too-short": return tooShort(minimum ?? 1)
        case "weak":
            let bits = problem.member("bits")?.integer(Int.self)
            return weak(bits: bits ?? 0, minimum: minimum)
        case "mistyped": return tr("The recovery code has a typo.")
        default: return tr("Try again.")
        }
    }

    static func tooShort(_ minimum: Int) -> String {
        tr("At least {count} character.", plural: "At least {count} characters.", count: minimum)
    }

    private static func weak(bits: Int, minimum: Int?) -> String {
        guard let minimum else { return tr("Too easy to guess: worth about {bits} bits.", ["bits": "\(bits)"]) }
        let values = ["bits": "\(bits)", "minimum": "\(minimum)"]
        return tr("Too easy to guess: worth about {bits} bits; {minimum} are needed.", values)
    }
}

extension String {
    /// The text without spaces at its ends.
    fileprivate var trimmingSpaces: String {
        let start = unicodeScalars.drop { $0 == " " }
        let end = start.lastIndex { $0 != " " }
        return end.map { String(String.UnicodeScalarView(start[...$0])) } ?? ""
    }
}
