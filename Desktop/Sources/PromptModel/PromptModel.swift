// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives
public import HybridQRCode

/// A state of the ceremony as the user sees it.
public enum PromptStage: Equatable, Sendable {
    /// There is no code yet.
    case preparing
    /// The user is asked whether to use the phone.
    case question
    /// A phone that is known to this computer is contacted; the name is in quotation marks.
    case contacting(String?)
    /// The code waits for a phone.
    case scan
    /// A phone has scanned the code and is nearby.
    case phoneFound
    /// The devices connect.
    case connecting
    /// The phone asks its user.
    case confirm
    /// The phone has answered and offers a link.
    case linkOffer
    /// The user compares digits with the screen of the other device, whose name is in quotation marks.
    case comparing(String, with: String)
    /// So many of all passkeys are stored here.
    case stored(Int, of: Int)
    /// So many of all records of a vault have arrived.
    case awaitingFiles(Int, of: Int)
    /// The phone has answered.
    case done
    /// The ceremony ended without success.
    case failed

    /// Returns the state for the user.
    ///
    /// - Parameter isTransfer: True if another device gives something to this one.
    func text(isTransfer: Bool) -> String {
        switch self {
        case .preparing: "Preparing the code"
        case .question: "Continue with your phone?"
        case .contacting(let phone): "Waiting for \(phone ?? "your phone")"
        case .scan: isTransfer ? "Scan this code with hybrid-auth give" : "Scan this code with your phone"
        case .phoneFound: isTransfer ? "Device found" : "Phone found"
        case .connecting: isTransfer ? "Connecting to the device" : "Connecting to the phone"
        case .confirm: "Confirm on your phone"
        case .linkOffer: "Link this phone?"
        case .comparing(_, let peer): "The screen of \(peer) must show the same digits"
        case .stored(let count, let total): "\(count) of \(total) stored"
        case .awaitingFiles(let count, let total): "Waiting for the files of the vault: \(count) of \(total)"
        case .done: "Done"
        case .failed: "It did not work"
        }
    }

    /// True before a phone has been found.
    var mayShowCode: Bool {
        switch self {
        case .preparing, .question, .contacting, .scan: true
        default: false
        }
    }

    /// True if the ceremony waits for its user, within the time limit of the request.
    var isTimed: Bool {
        switch self {
        case .question, .contacting, .scan, .confirm: true
        default: false
        }
    }
}

/// An answer of the user, which never causes a signature: only the phone's user can.
public enum PromptAnswer: String, Sendable {
    /// The ceremony is to end.
    case cancel
    /// The phone may be contacted.
    case proceed
    /// The phone may be contacted, and again for later requests of the same host for the same site.
    case proceedAlways = "proceed-always"
    /// A code is to be shown instead of contacting a phone.
    case showCode = "show-code"
}

/// Everything that the window shows.
public struct PromptView: Equatable, Sendable {
    /// The purpose and further facts; `nil` before a request.
    public internal(set) var request: PromptRequest?
    /// The state.
    public internal(set) var stage = PromptStage.preparing
    /// The code, while it can be scanned.
    public internal(set) var code: QRMatrix?
    /// The time at which the current state times out, if known.
    public internal(set) var deadline: ContinuousClock.Instant?
    /// Warnings, which stay until the end.
    public internal(set) var warnings: [String] = []
    /// The first passkeys that another device gives, until they are stored.
    var passkeys: [String] = []
    /// Number of all of them.
    var passkeyCount = 0
    /// A note about the current state.
    public internal(set) var note: String?
    /// The cause and the remedy of a failure.
    public internal(set) var failure: [String] = []
    /// The answer besides ``PromptAnswer/cancel`` that the state offers.
    public internal(set) var offer: PromptAnswer?
    /// A further answer, which agrees to later requests, too; `nil` if the request offers none.
    public internal(set) var lastingOffer: PromptAnswer?
    /// The linked phone that may be contacted instead of scanning the code, in quotation marks; `nil` if there is none.
    public internal(set) var linkedPhone: String?

    /// The cautions of the request, until the ceremony begins: the code needs their room.
    public var cautions: [String] {
        let isBefore = stage == .question || stage == .preparing && code == nil
        return isBefore ? request?.cautions ?? [] : []
    }

    /// The state for the user.
    public var stageText: String { stage.text(isTransfer: request?.isTransfer == true) }

    /// The digits that the user compares, in two groups; `nil` if there are none now.
    public var digits: String? {
        if case .comparing(let digits, _) = stage { return digits }
        return nil
    }

    /// Passkeys that another device gives, one on each line, and the number of the others; empty if there are none.
    public var passkeyList: String {
        let rest = passkeyCount - passkeys.count
        return (passkeys + (rest > 0 && !passkeys.isEmpty ? ["and \(rest) more"] : [])).joined(separator: "\n")
    }

    /// True if the offer is what the window is for, so that Enter accepts it.
    ///
    /// The offer beside a code rings a phone. A key that was meant for another window must not accept it. The same
    /// applies to a request of another host: a page there can open this window at any time, while its user types into
    /// an SSH session, and Enter ends every line there. The delay of an offer is too short for that.
    public var isOfferDefault: Bool { offer != nil && linkedPhone == nil && !isRemoteQuestion }

    /// True if the user is asked whether another host may use the phone.
    private var isRemoteQuestion: Bool { stage == .question && request?.isRemote == true }

    /// The text of the button that accepts the offer.
    public var offerText: String {
        if offer == .showCode { return "Show a Code" }
        if isRemoteQuestion { return "Continue" }
        return linkedPhone.map { "Use \($0)" } ?? "Use Phone"
    }

    /// True if the ceremony has ended, so that there is nothing to cancel.
    public var isOver: Bool { stage == .done || stage == .failed }

    /// Returns the remaining time as minutes and seconds, rounded up; `nil` if unknown.
    public func remaining(at now: ContinuousClock.Instant) -> String? {
        guard let deadline else { return nil }
        let seconds = max(0, Int(((deadline - now) / .seconds(1)).rounded(.up)))
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}

/// The state of the window: lines of progress and answers in, a view and the time of closing out.
public struct PromptModel: Sendable {
    /// The time for which success is shown.
    public static let successDisplay = Duration.milliseconds(700)
    /// The time for which success is shown if there is another result to read.
    public static let resultDisplay = Duration.seconds(10)
    /// The time after which the window of a failure closes by itself.
    public static let failureDisplay = Duration.seconds(300)
    /// The time for which an offer is not accepted, so that a key meant for another window does not accept it.
    public static let offerDelay = Duration.milliseconds(500)
    /// Maximum number of listed passkeys.
    static let maximumPasskeys = 20
    /// Maximum number of warnings.
    static let maximumWarnings = 4

    /// The current view.
    public private(set) var view = PromptView()
    /// True once there is something to show.
    public private(set) var isVisible = false
    /// True if the note is a result, which stays until the end.
    private var hasResult = false
    /// The time at which the current offer appeared.
    private var offered: ContinuousClock.Instant?
    /// The time at which the window closes by itself, if it is known.
    public private(set) var closing: ContinuousClock.Instant?

    /// Creates the state of a window without any input.
    public init() {}

    /// Applies a line of progress; lines that are not understood change nothing.
    ///
    /// - Parameters:
    ///   - line: The line without its line feed.
    ///   - now: The current time.
    /// - Throws: ``PromptInputError`` if a request or a code cannot be shown.
    package mutating func receive(_ line: SecretBytes, at now: ContinuousClock.Instant) throws(PromptInputError) {
        guard !view.isOver, let event = try PromptEvent(line) else { return }
        apply(event, at: now)
        isVisible = true
    }

    /// Applies an answer of the user; returns true if it is to be reported.
    ///
    /// An offer is accepted once, and not at once after it appears.
    public mutating func answer(_ answer: PromptAnswer, at now: ContinuousClock.Instant) -> Bool {
        guard !view.isOver else { return false }
        guard answer != .cancel else { return true }
        guard view.offer == answer || view.lastingOffer == answer, let offered, offered + Self.offerDelay <= now else {
            return false
        }
        (view.offer, view.lastingOffer, view.linkedPhone) = (nil, nil, nil)
        return true
    }

    /// Applies the end of the input, which closes the window unless a result is still shown.
    public mutating func endInput(at now: ContinuousClock.Instant) {
        if !view.isOver { closing = now }
    }

    private mutating func apply(_ event: PromptEvent, at now: ContinuousClock.Instant) {
        switch event {
        case .request(let request):
            // The purpose on the screen must not change under the user's eyes.
            if view.request == nil { view.request = request }
        case .code(let code):
            // Once a phone has been found, no other may scan.
            if view.stage.mayShowCode { view.code = code }
        case .stage(let stage): enter(stage, at: now)
        case .warning(let text):
            if view.warnings.count < Self.maximumWarnings { view.warnings.append(text) }
        case .note(let text): view.note = text
        case .linkedPhone(let phone):
            view.linkedPhone = phone
            makeOffer(at: now)
        case .contactFailed(let reason):
            // The code may be shown again, even if the phone had been found.
            enter(.preparing, at: now)
            view.note = reason
        case .linkOffer(let text):
            enter(.linkOffer, at: now)
            view.note = text
        case .passkeys(let list, let count):
            view.passkeys += list.prefix(Self.maximumPasskeys - view.passkeys.count)
            view.passkeyCount = count
        case .result(let text):
            view.note = text
            hasResult = true
        case .failure(let cause, let remedy):
            enter(.failed, at: now)
            view.failure = [cause, remedy].filter { !$0.isEmpty }
        }
    }

    private mutating func makeOffer(at now: ContinuousClock.Instant) {
        view.offer =
            switch view.stage {
            case .question: .proceed
            // With a code on the screen, there is nothing more to show.
            case .contacting: view.code == nil ? .showCode : nil
            case .preparing, .scan: view.linkedPhone == nil ? nil : .proceed
            default: nil
            }
        let mayLast = view.stage == .question && view.request?.offersAlways == true
        view.lastingOffer = mayLast ? .proceedAlways : nil
        offered = now
    }

    private mutating func enter(_ stage: PromptStage, at now: ContinuousClock.Instant) {
        view.stage = stage
        // The reason why a linked phone was not used stays next to the code.
        let keepsNote = stage == .scan || hasResult
        if !keepsNote { view.note = nil }
        if !stage.mayShowCode { view.code = nil }
        view.passkeys = []
        view.deadline = stage.isTimed ? view.request?.timeout.map { now + $0 } : nil
        makeOffer(at: now)
        switch stage {
        case .done:
            let isToRead = hasResult || view.request?.isTransfer == true
            closing = now + (isToRead ? Self.resultDisplay : Self.successDisplay)
        case .failed: closing = now + Self.failureDisplay
        default: break
        }
    }
}
