// SPDX-License-Identifier: Apache-2.0

/// What the lab's phone does in one ceremony: how its person answers, and what goes wrong on the way.
struct PhoneScript: Sendable, Equatable {
    /// How the person answers.
    enum Person: String, Sendable, CaseIterable {
        case approve
        case deny
        /// Types a wrong PIN until the phone gives up.
        case wrongPIN = "wrong-uv"
        /// Has no passkey for the site, whatever there is.
        case noCredentials = "no-credentials"
        /// Has a passkey already that the site excludes, whatever there is.
        case excluded
    }

    /// How far a ceremony has come, in order.
    enum Stage: String, Sendable, CaseIterable {
        /// The relay keeps a tunnel.
        case tunnel
        /// The advert is on the air.
        case advert
        /// The desktop's first message has come.
        case handshake
        /// The phone has answered it and told what it can.
        case introduction
        /// The request has come.
        case request
        /// The answer is sent.
        case answer
    }

    /// What goes wrong.
    enum Fault: Sendable, Equatable {
        /// The phone closes its tunnel, behind this stage.
        case drop(Stage)
        /// The phone is gone without a word, behind this stage.
        case vanish(Stage)
        /// It says nothing more, behind this stage, and stays.
        case hang(Stage)
        /// One bit of what it sends at this stage is wrong.
        case corrupt(Stage)
    }

    var person = Person.approve
    /// How long the person takes.
    var wait = Duration.zero
    /// Which account is picked, counted from 1.
    var pick = 1
    /// By how much each message of the phone is late.
    var delay = Duration.zero
    var fault: Fault?
    /// Whether a second phone reads the same code.
    var hasTwin = false
    /// Whether the advert has four bytes behind its twenty.
    var hasLongAdvert = false
    /// As it was written.
    private(set) var text = Person.approve.rawValue

    /// Somebody who agrees, with a phone that works.
    init() {}

    /// Why a script can't be read.
    struct Mistake: Error, Equatable {
        let sentence: String
    }

    /// Reads steps with commas between them, such as `wait:2,deny`.
    init(parsing text: String) throws(Mistake) {
        self.text = text
        var names: Set<String> = []
        for step in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = step.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let (name, value) = (parts[0], parts.count > 1 ? parts[1] : nil)
            let kind = Person(rawValue: name) == nil ? name : "person"
            guard names.insert(kind).inserted else {
                throw Mistake(
                    sentence: kind == "person" ? "the person can answer in one way only" : "\(name) stands twice"
                )
            }
            try take(name, value)
        }
        if names.intersection(["drop", "vanish", "hang", "corrupt"]).count > 1 {
            throw Mistake(sentence: "one of drop, vanish, hang and corrupt is enough")
        }
        if hasTwin, needsOwnSession { throw Mistake(sentence: "two-phones goes with answers of the person alone") }
    }

    /// Whether the product's own session can't play it.
    var needsOwnSession: Bool { fault != nil || delay > .zero || hasLongAdvert }

    private mutating func take(_ name: String, _ value: String?) throws(Mistake) {
        if let person = Person(rawValue: name) {
            guard value == nil else { throw Mistake(sentence: "\(name) takes no value") }
            self.person = person
            return
        }
        switch (name, value) {
        case ("two-phones", nil): hasTwin = true
        case ("advert-24", nil): hasLongAdvert = true
        case ("slow", nil): delay = .seconds(1)
        case ("slow", let value?): delay = try Self.seconds(value, of: name)
        case ("wait", let value?): wait = try Self.seconds(value, of: name)
        case ("pick", let value?):
            guard let number = Int(value), (1...1000).contains(number) else {
                throw Mistake(sentence: "pick takes the number of an account, from 1")
            }
            pick = number
        case ("drop", let value?): fault = .drop(try Self.stage(value, of: name))
        case ("vanish", let value?): fault = .vanish(try Self.stage(value, of: name))
        case ("hang", let value?): fault = .hang(try Self.stage(value, of: name))
        case ("corrupt", let value?):
            fault = .corrupt(try Self.stage(value, of: name, among: [.handshake, .introduction, .answer]))
        case ("two-phones", _), ("advert-24", _): throw Mistake(sentence: "\(name) takes no value")
        case ("wait", nil), ("pick", nil), ("drop", nil), ("vanish", nil), ("hang", nil),
            ("corrupt", nil):
            throw Mistake(sentence: "\(name) takes a value, as in \(Self.examples[name] ?? name)")
        default:
            throw Mistake(sentence: "\"\(name)\" is no step; the steps are \(Self.steps)")
        }
    }

    /// The steps there are, for help and errors.
    static let steps =
        "approve, deny, wrong-uv, no-credentials, excluded, wait:SECONDS, pick:NUMBER, slow[:SECONDS], drop:STAGE, "
        + "vanish:STAGE, hang:STAGE, corrupt:STAGE, two-phones, advert-24"

    private static let examples = [
        "wait": "wait:2.5", "pick": "pick:2", "drop": "drop:request", "vanish": "vanish:request",
        "hang": "hang:advert", "corrupt": "corrupt:answer",
    ]

    private static func seconds(_ text: String, of name: String) throws(Mistake) -> Duration {
        guard let number = Double(text), number >= 0, number <= 600 else {
            throw Mistake(sentence: "\(name) takes 0 to 600 seconds")
        }
        return .milliseconds(Int(number * 1000))
    }

    private static func stage(
        _ text: String,
        of name: String,
        among stages: [Stage] = Stage.allCases
    ) throws(Mistake) -> Stage {
        guard let stage = Stage(rawValue: text), stages.contains(stage) else {
            throw Mistake(sentence: "\(name) takes \(stages.map(\.rawValue).joined(separator: ", "))")
        }
        return stage
    }
}
