// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives
internal import HybridTranslation

/// The state of the sheet: lines of hybrid-auth and the user's answers in; a view, lines for hybrid-auth and the time of
/// closing out.
package struct SheetModel {
    /// The time for which the user can't agree, so that a tap or key meant for something else does not.
    package static let agreementDelay = Duration.milliseconds(500)
    /// The time for which success is shown.
    static let successDisplay = Duration.milliseconds(700)
    /// The time after which a failure closes by itself.
    static let failureDisplay = Duration.seconds(300)
    /// Maximum length of a line in bytes.
    package static let maximumLine = 64 << 10
    /// Maximum number of values of a line.
    private static let maximumValues = 4096

    /// The current view.
    package private(set) var view = SheetView(stage: .waiting(""))
    /// True if the sheet is to be shown.
    package private(set) var isVisible = false
    /// The time at which the sheet closes by itself, if it is known.
    package private(set) var closing: ContinuousClock.Instant?
    /// True if the user has declined or closed the sheet, which does not come back then.
    private var isDismissed = false

    /// The open question.
    private var question: SheetQuestion?
    /// The greatest number of a question so far.
    private var latest = 0
    /// The positions of the groups of a recovery code that are asked for.
    private var positions: [Int] = []
    private let choosePositions: (_ count: Int) -> [Int]

    /// Creates a sheet that is not shown yet.
    ///
    /// - Parameter choosePositions: A closure that returns two random positions, in order, given the number of groups.
    package init(choosePositions: @escaping (_ count: Int) -> [Int]) {
        self.choosePositions = choosePositions
        view.stage = .waiting(Self.connecting)
    }

    private static var connecting: String { tr("Connecting…") }

    // MARK: - Lines

    /// Applies a line; lines that are not understood change nothing.
    ///
    /// - Parameters:
    ///   - line: The line without its line feed.
    ///   - now: The current time.
    /// - Returns: An answer at once, for a question that can't be shown.
    package mutating func receive(_ line: SecretBytes, at now: ContinuousClock.Instant) -> SheetAnswer? {
        var bytes = Array(line.memory)
        defer { SecretBytes.wipe(&bytes) }
        guard closing == nil, bytes.count <= Self.maximumLine,
            let object = try? JSONText(parsing: bytes, maximumValues: Self.maximumValues), object.isObject
        else { return nil }
        if let number = object.member("ask")?.integer(Int.self) { return ask(object, number, at: now) }
        if let number = object.member("withdraw")?.integer(Int.self) {
            withdraw(number, object.member("because")?.text)
        } else if let state = object.member("state")?.text {
            enter(state)
        } else if let notice = object.member("notice")?.text {
            show(notice)
        } else if let end = object.member("end")?.text {
            finish(end, object, at: now)
        }
        return nil
    }

    /// The window has appeared on the screen, which may take a while on a slow device: the user can't agree yet.
    package mutating func appear(at now: ContinuousClock.Instant) {
        if question != nil { view.agreeableFrom = now + Self.agreementDelay }
    }

    /// Applies the end of the input, which closes the sheet unless a failure is still shown.
    package mutating func endInput(at now: ContinuousClock.Instant) {
        if case .failure = view.stage, isVisible { return }
        // Success is shown for its time.
        if closing == nil { closing = now }
    }

    private mutating func ask(_ object: JSONText, _ number: Int, at now: ContinuousClock.Instant) -> SheetAnswer? {
        // An old number has been answered already.
        guard number > latest else { return nil }
        latest = number
        guard let question = try? SheetQuestion(object, number: number) else {
            close()
            return .decline(number)
        }
        close()
        self.question = question
        view.stage = .question(question.content)
        view.number = number
        view.deadline = question.timeout.map { now + $0 }
        view.agreeableFrom = now + Self.agreementDelay
        isVisible = true
        return nil
    }

    private mutating func withdraw(_ number: Int, _ reason: String?) {
        guard question?.number == number else { return }
        close()
        switch reason {
        case "touched": view.stage = .success(tr("Fingerprint recognized"))
        case "timed-out": view.stage = .waiting(tr("The time is over"))
        default: view.stage = .waiting(Self.working)
        }
    }

    private static var working: String { tr("One moment…") }

    /// Shows the states that follow a question; one before that is remembered in the same way.
    private mutating func enter(_ state: String) {
        let text: String
        switch state {
        case "tunnel-open", "advertising", "connected": text = Self.connecting
        case "asked": text = Self.working
        case "answered": text = tr("Answered")
        case "done": text = tr("Done")
        default: return
        }
        guard question == nil else { return }
        if case .failure = view.stage { return }
        view.stage = state == "done" ? .success(text) : .waiting(text)
    }

    private mutating func show(_ notice: String) {
        guard case .question(var content) = view.stage, content.fields == [.pin] else { return }
        switch notice {
        case "touch-sensor": content.note = tr("Touch the fingerprint sensor, or type the PIN.")
        case "touch-again": content.note = tr("The finger was not read. Touch the sensor again.")
        case "finger-not-matched": content.note = tr("The finger did not match.")
        default: return
        }
        view.stage = .question(content)
    }

    private mutating func finish(_ end: String, _ object: JSONText, at now: ContinuousClock.Instant) {
        close()
        switch end {
        case "done" where isVisible:
            view.stage = .success(tr("Done"))
            closing = now + Self.successDisplay
        // Also before the first question: no other program shows it.
        case "failed" where !isDismissed:
            isVisible = true
            let texts = ["message", "remedy"].map { SheetText.sentence(object.member($0)?.text ?? "") }
            let shown = texts.filter { !$0.isEmpty }
            view.stage = .failure(shown.isEmpty ? [tr("It did not work.")] : shown)
            closing = now + Self.failureDisplay
        default: closing = now
        }
    }

    /// Ends the question.
    private mutating func close() {
        question = nil
        positions = []
        view.number = 0
        (view.deadline, view.agreeableFrom) = (nil, nil)
        view.stage = .waiting(Self.working)
    }

    // MARK: - Answers

    /// Applies the button that agrees, or the Enter key.
    ///
    /// - Parameters:
    ///   - typed: The content of each field, in UTF-8.
    ///   - account: The chosen account.
    ///   - now: The current time.
    /// - Returns: The answer; `nil` if the question stays, because it just appeared or something is missing.
    package mutating func agree(
        _ typed: [SecretBytes],
        account: Int?,
        at now: ContinuousClock.Instant
    ) -> SheetAnswer? {
        guard let question, view.isAgreeable(at: now), case .question(let content) = view.stage else { return nil }
        guard typed.count == content.fields.count else { return nil }
        let answer: SheetAnswer
        switch question.answer {
        case .agreement: answer = .agree(question.number)
        case .namedAgreement:
            guard let name = typed.first else { return nil }
            guard name.memory.count <= SheetQuestion.maximumName else { return complain(tr("That is too long."), 0) }
            answer = name.memory.isEmpty ? .agree(question.number) : .agree(question.number, named: name)
        case .account:
            let chosen = content.accounts.count == 1 ? 0 : account
            guard let chosen, content.accounts.indices.contains(chosen) else { return complain(tr("Choose one."), 0) }
            answer = .account(chosen, question.number)
        case .text(let member, let maximum):
            guard let text = typed.first else { return nil }
            guard text.memory.count > 0 else { return complain(Self.empty(content.fields[0]), 0) }
            guard text.memory.count <= maximum else { return complain(tr("That is too long."), 0) }
            answer = .text(text, as: member, question.number)
        case .newText(let member, let minimum, let maximum):
            guard typed.count == 2 else { return nil }
            if let problem = Self.problem(of: typed[0], content.fields[0], minimum, maximum) {
                return complain(problem, 0)
            }
            guard typed[0].memory.elementsEqual(typed[1].memory) else { return complain(Self.differ(content), 1) }
            answer = .text(typed[0], as: member, question.number)
        case .writtenDown:
            guard !positions.isEmpty else { return askForGroups(question, at: now) }
            for (index, position) in positions.enumerated() where !Self.matches(typed[index], question, position) {
                let values = ["number": "\(position + 1)"]
                return complain(tr("That is not group {number} of the code.", values), index)
            }
            answer = .agree(question.number)
        }
        close()
        return answer
    }

    /// Applies the button that declines, the Escape key or the close button; they are one.
    ///
    /// - Returns: The answer; `nil` without a question. Then the sheet closes.
    package mutating func decline(at now: ContinuousClock.Instant) -> SheetAnswer? {
        isDismissed = true
        guard let question else {
            closing = now
            return nil
        }
        close()
        isVisible = false
        return .decline(question.number)
    }

    /// Applies the button that leads back to the recovery code.
    package mutating func goBack(at now: ContinuousClock.Instant) {
        guard let question, !positions.isEmpty else { return }
        positions = []
        view.stage = .question(question.content)
        view.agreeableFrom = now + Self.agreementDelay
    }

    private mutating func askForGroups(_ question: SheetQuestion, at now: ContinuousClock.Instant) -> SheetAnswer? {
        let count = question.content.groups.count
        let chosen = choosePositions(count)
        guard chosen.count == 2, chosen[0] < chosen[1], chosen.allSatisfy((0..<count).contains) else { return nil }
        positions = chosen
        view.stage = .question(.groups(chosen))
        view.agreeableFrom = now + Self.agreementDelay
        return nil
    }

    private mutating func complain(_ problem: String, _ field: Int) -> SheetAnswer? {
        guard case .question(var content) = view.stage else { return nil }
        (content.problem, content.wrongField) = (problem, field)
        view.stage = .question(content)
        return nil
    }

    private static func empty(_ field: SheetField) -> String {
        field.isPIN ? tr("Type the PIN.") : tr("Type the passphrase or the recovery code.")
    }

    private static func differ(_ content: SheetContent) -> String {
        content.fields.first == .newPIN ? tr("The two PINs differ.") : tr("The two passphrases differ.")
    }

    /// Returns the problem of a new PIN or passphrase; `nil` if it can be used.
    private static func problem(of text: SecretBytes, _ field: SheetField, _ minimum: Int, _ maximum: Int) -> String? {
        guard text.memory.count > 0 else { return field.isPIN ? tr("Type the PIN.") : tr("Type a passphrase.") }
        // Code points, as hybrid-auth counts them.
        let characters = text.memory.count { $0 & 0xC0 != 0x80 }
        guard characters >= minimum else { return SheetText.tooShort(minimum) }
        return text.memory.count > maximum ? tr("That is too long.") : nil
    }

    /// Returns true for the group at a position, in any case and with spaces around it.
    private static func matches(_ typed: SecretBytes, _ question: SheetQuestion, _ position: Int) -> Bool {
        func folded(_ bytes: some Sequence<UInt8>) -> [UInt8] {
            bytes.filter { $0 != 0x20 }.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
        }
        return folded(typed.memory) == folded(question.content.groups[position].utf8)
    }
}
