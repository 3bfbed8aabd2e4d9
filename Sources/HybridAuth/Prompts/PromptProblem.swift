// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridPrimitives

/// The reason why the user is asked again.
enum PromptProblem: Equatable, Sendable {
    /// The PIN was wrong; this many attempts are left before a wait.
    case wrong(attemptsLeft: Int)
    /// A finger released a key that does not open the vault.
    case keyReplaced
    /// No PIN was typed.
    case empty
    /// Neither a passphrase nor a recovery code was typed.
    case noSecret
    /// No finger will match; the text says why.
    case finger(String)
    /// The new PIN is too short.
    case tooShort
    /// The new passphrase is worth this many bits only.
    case weak(bits: Int, minimum: Int)
    /// The recovery code has a typo.
    case mistyped

    init(_ problem: PINProblem) {
        self =
            switch problem {
            case .keyReplaced: .keyReplaced
            case .wrong(let attemptsLeft): .wrong(attemptsLeft: attemptsLeft)
            }
    }

    /// The complaint as a line of pinentry's prompt.
    var complaint: String {
        switch self {
        case .wrong(let attemptsLeft): "Wrong PIN; attempts left before a delay: \(attemptsLeft)"
        case .keyReplaced: "The vault has a new key now; type the PIN"
        case .empty: "Type the PIN, or cancel"
        case .noSecret: "Type the passphrase or the recovery code, or cancel"
        case .finger(let text): text
        case .tooShort: "At least \(PIN.minimumLength) characters"
        case .weak(let bits, let minimum): "Worth about \(bits) bits; \(minimum) are needed"
        case .mistyped: "The recovery code has a typo"
        }
    }

    /// The member `problem` of a question.
    var member: (String, JSONText) {
        let members: [(String, JSONText)] =
            switch self {
            case .wrong(let attemptsLeft): [("code", .string("wrong")), ("attemptsLeft", .number(attemptsLeft))]
            case .keyReplaced: [("code", .string("key-replaced"))]
            case .empty, .noSecret: [("code", .string("empty"))]
            case .finger(let text): [("code", .string("finger")), ("message", .string(text))]
            case .tooShort: [("code", .string("too-short"))]
            case .weak(let bits, _): [("code", .string("weak")), ("bits", .number(bits))]
            case .mistyped: [("code", .string("mistyped"))]
            }
        return ("problem", .object(members))
    }
}
