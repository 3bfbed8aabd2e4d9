// SPDX-License-Identifier: Apache-2.0

package import HybridPinentry
package import HybridPrimitives

/// A question to the user, which the program shows.
///
/// Names in its members are as received. The program makes them safe to show.
package struct AskQuestion: Sendable {
    /// Maximum length of a line to the program in bytes, including its line feed.
    package static let maximumLine = 64 << 10
    /// Maximum number of accounts in one question.
    package static let maximumAccounts = 64

    /// The kinds of question; the raw value is the name in the protocol.
    package enum Kind: String, CaseIterable, Sendable {
        /// A new PIN, which the program compares with its repetition.
        case newPIN = "new-pin"
        /// The PIN of the vault.
        case pin
        /// One of several accounts, or consent to the only one.
        case account
        /// Consent to a new passkey.
        case create
        /// A fact that the user learns before the client does.
        case notice
        /// A link with the computer that shows the code.
        case link
        /// A code that came from a link.
        case openedLink = "opened-link"
        /// The deletion of a passkey.
        case delete
        /// A recovery code to write down.
        case recoveryCode = "recovery-code"
        /// A passphrase or recovery code.
        case secret
        /// A new passphrase, which the program compares with its repetition.
        case newSecret = "new-secret"
        /// Any other question, as text.
        case question
    }

    /// The answers that a question accepts.
    enum Form: Equatable, Sendable {
        /// The member `pin`.
        case pin
        /// The member `secret`.
        case secret
        /// The member `account`, an index below the number of accounts.
        case account(of: Int)
        /// The member `agree`.
        case agreement
        /// The member `agree`, and `name` if the user gives one.
        case namedAgreement
    }

    /// The kind.
    package let kind: Kind
    /// The time for the user to answer.
    package let timeout: Duration
    private let members: [(String, JSONText)]

    /// Creates a question.
    ///
    /// - Parameters:
    ///   - kind: The kind.
    ///   - timeout: The time for the user to answer.
    ///   - members: The members of its kind.
    package init(_ kind: Kind, within timeout: Duration, _ members: [(String, JSONText)]) {
        (self.kind, self.timeout, self.members) = (kind, timeout, members)
    }

    /// The answers that the question accepts.
    var form: Form {
        switch kind {
        case .newPIN, .pin: .pin
        case .secret, .newSecret: .secret
        case .account: .account(of: members.first { $0.0 == "accounts" }?.1.elements?.count ?? 0)
        case .link: .namedAgreement
        case .create, .notice, .openedLink, .delete, .recoveryCode, .question: .agreement
        }
    }

    /// True if the question fits a line of the protocol.
    package var fits: Bool { line(.max) != nil }

    /// Returns the line that asks the question; `nil` if it would be too long.
    func line(_ number: Int) -> [UInt8]? {
        let seconds = max(1, Int(timeout.components.seconds))
        let head: [(String, JSONText)] = [
            ("ask", .number(number)), ("kind", .string(kind.rawValue)), ("timeout", .number(seconds)),
        ]
        return AskEvent.line(head + members)
    }
}

/// The user's answer to a question.
package enum AskAnswer: Sendable {
    /// The PIN, passphrase or recovery code that the user typed.
    case typed(PinentrySecret)
    /// The index of the account that the user chose.
    case account(Int)
    /// The user agreed.
    case agreed
    /// The user agreed and typed a name.
    case named(PinentrySecret)
}

/// The reason why a question was not answered.
package enum AskRefusal: Error, Hashable, Sendable {
    /// The user declined or closed the window, the program has ended, or its answer was malformed.
    case declined
    /// The user did not answer in time.
    case timedOut
    /// The calling task was canceled.
    case interrupted
    /// The question does not fit a line of the protocol; nothing was asked.
    case tooLong
}

/// The reason why a question ends without an answer; the raw value is the name in the protocol.
package enum AskWithdrawal: String, CaseIterable, Sendable {
    /// A finger answered.
    case touched
    /// No finger will match.
    case fingerFailed = "finger-failed"
    /// The user did not answer in time.
    case timedOut = "timed-out"
    /// A signal ended this process.
    case interrupted
    /// The other device no longer waits, or another part of the request failed.
    case cancelled
}
