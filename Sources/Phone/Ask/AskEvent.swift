// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A line to the program that has no answer.
package enum AskEvent: Sendable {
    /// The state of a ceremony, by its name in the reports of progress.
    case state(String)
    /// A notice of a ceremony: its name and its text for users.
    case notice(String, String)
    /// The end of a question without an answer.
    case withdrawn(Int, AskWithdrawal)
    /// The end of the run, after which nothing is asked.
    case end(AskEnding)

    /// The line of the event; `nil` if it would be too long.
    var line: [UInt8]? {
        switch self {
        case .state(let name): Self.line([("state", .string(name))])
        case .notice(let name, let text): Self.line([("notice", .string(name)), ("message", .string(Self.cut(text)))])
        case .withdrawn(let number, let cause):
            Self.line([("withdraw", .number(number)), ("because", .string(cause.rawValue))])
        case .end(let ending): Self.line(ending.members)
        }
    }

    /// Returns the line of an object; `nil` if it would be too long.
    static func line(_ members: [(String, JSONText)]) -> [UInt8]? {
        let line = Array(JSONText.object(members).description.utf8) + [UInt8(ascii: "\n")]
        return line.count <= AskQuestion.maximumLine ? line : nil
    }

    /// Maximum number of characters of a message; escaped, each has at most 12 bytes.
    private static let maximumMessage = 2000

    fileprivate static func cut(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(maximumMessage)))
    }
}

/// The end of a run, as the program shows it.
package struct AskEnding: Sendable {
    fileprivate let members: [(String, JSONText)]
    /// True if the program shows the end until the user closes it.
    let isFailure: Bool

    private init(_ word: String, _ details: [(String, String?)], isFailure: Bool = false) {
        let texts: [(String, JSONText)] = details.compactMap { name, text in
            text.map { (name, .string(AskEvent.cut($0))) }
        }
        let head: [(String, JSONText)] = [("end", .string(word))]
        members = head + texts
        self.isFailure = isFailure
    }

    /// The end of a run that has done its work; the window closes.
    package static let done = AskEnding("done", [])

    /// The run ended in a way that the user has caused or seen already; the window closes.
    package static func declined(code: String, message: String) -> AskEnding {
        AskEnding("declined", [("code", code), ("message", message)])
    }

    /// The run failed; the window shows why.
    package static func failed(code: String, message: String, remedy: String?) -> AskEnding {
        AskEnding("failed", [("code", code), ("message", message), ("remedy", remedy)], isFailure: true)
    }
}
