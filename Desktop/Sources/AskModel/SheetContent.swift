// SPDX-License-Identifier: Apache-2.0

/// A question as the sheet shows it; all texts are plain, and names are safe and in quotation marks.
package struct SheetContent: Equatable, Sendable {
    /// The site, alone and largest; `nil` for a question about the vault.
    package var heading: String?
    /// Lines below the heading that belong to it, such as the name of an SSH key.
    package var subject: [String] = []
    /// The question in one sentence.
    package var question = ""
    /// Further lines about the question.
    package var details: [String] = []
    /// Lines about the sender of the request.
    package var source: [String] = []
    /// Warnings, which are above everything else.
    package var warnings: [String] = []
    /// The accounts: none, one to agree to, or several of which the user chooses one.
    package var accounts: [SheetAccount] = []
    /// The texts that the user types.
    package var fields: [SheetField] = []
    /// Groups of characters to write down.
    package var groups: [String] = []
    /// The reason why the question is asked again.
    package var problem: String?
    /// The field that is wrong, which gets the focus; it and those after it become empty.
    package var wrongField = 0
    /// A note that changes while the question is shown, such as an invitation to touch the sensor.
    package var note: String?
    /// The label of the button that agrees.
    package var agree = ""
    /// The label of the button that declines; `nil` if there is nothing to decline.
    package var decline: String?
    /// True if a step back is offered.
    package var offersBack = false
    /// True if agreeing destroys something.
    package var isDestructive = false

    /// A question without any text.
    package static var empty: SheetContent { SheetContent() }
}

/// An account in a list.
package struct SheetAccount: Equatable, Sendable {
    /// The account's name, in quotation marks.
    package let name: String
    /// A second name, in quotation marks.
    package let note: String?
    /// The time of the last use in seconds since 1970, if known.
    package let lastUsed: Int?

    /// Creates an account from texts that are safe.
    package init(name: String, note: String?, lastUsed: Int?) {
        (self.name, self.note, self.lastUsed) = (name, note, lastUsed)
    }
}

/// A text that the user types.
package enum SheetField: Equatable, Sendable {
    /// The PIN.
    case pin
    /// A new PIN.
    case newPIN
    /// The new PIN once more.
    case repeatedPIN
    /// A passphrase or a recovery code.
    case secret
    /// A new passphrase.
    case newPassphrase
    /// The new passphrase once more.
    case repeatedPassphrase
    /// A group of the recovery code, counted from 1.
    case group(Int)
    /// A name for the computer, or nothing.
    case computerName

    /// True for a PIN, for which a number pad suffices at first.
    package var isPIN: Bool { self == .pin || self == .newPIN || self == .repeatedPIN }

    /// True if the text is visible while it is typed.
    package var isVisible: Bool {
        if case .group = self { return true }
        return self == .computerName
    }

    /// True if the field may stay empty; then the question is read before the keyboard appears.
    package var isOptional: Bool { self == .computerName }
}

/// The state of the sheet.
package enum SheetStage: Equatable, Sendable {
    /// There is no question; the text says what happens.
    case waiting(String)
    /// A question waits for its answer.
    case question(SheetContent)
    /// A step or everything has succeeded.
    case success(String)
    /// The request has failed: the cause, and the remedy if there is one.
    case failure([String])
}

/// Everything that the sheet shows.
package struct SheetView: Equatable, Sendable {
    /// The state.
    package internal(set) var stage: SheetStage
    /// The number of the question, which also tells a repeated question from a changed one; 0 without a question.
    package internal(set) var number = 0
    /// The time at which the question times out.
    package internal(set) var deadline: ContinuousClock.Instant?
    /// The time from which the user can agree.
    package internal(set) var agreeableFrom: ContinuousClock.Instant?

    /// Returns true if the user can agree now.
    package func isAgreeable(at now: ContinuousClock.Instant) -> Bool {
        guard case .question = stage, let agreeableFrom else { return false }
        return agreeableFrom <= now
    }

    /// Returns the remaining time as minutes and seconds, rounded up; `nil` if unknown.
    package func remaining(at now: ContinuousClock.Instant) -> String? {
        guard let deadline else { return nil }
        let seconds = max(0, Int(((deadline - now) / .seconds(1)).rounded(.up)))
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
