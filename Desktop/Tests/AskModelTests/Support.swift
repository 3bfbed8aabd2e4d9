// SPDX-License-Identifier: Apache-2.0

import HybridAskModel
import HybridPrimitives

extension SecretBytes {
    /// Creates a copy of a text in UTF-8.
    convenience init(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(count: bytes.count)
        memory.copyBytes(from: bytes)
    }
}

extension SheetAnswer {
    /// The line as text, without its line feed.
    var text: String { String(decoding: line.memory.dropLast(), as: UTF8.self) }
}

/// A model with the time that its tests set; it asks for the second and the fourth group of a recovery code.
struct TimedSheet {
    var model = SheetModel { _ in [1, 3] }
    var now = ContinuousClock.now
    /// The answers so far.
    var answers: [String] = []

    /// Creates a model and applies lines.
    init(_ lines: String...) {
        for line in lines { receive(line) }
    }

    var view: SheetView { model.view }

    /// The question that is shown, or an empty one.
    var content: SheetContent {
        guard case .question(let content) = view.stage else { return .empty }
        return content
    }

    /// Applies a line, and lets the delay of a question pass.
    mutating func receive(_ line: String) {
        receiveNow(line)
        now += SheetModel.agreementDelay
    }

    /// Applies a line.
    mutating func receiveNow(_ line: String) { record(model.receive(SecretBytes(line), at: now)) }

    /// Agrees with typed texts; returns the problem that is shown.
    @discardableResult
    mutating func agree(_ typed: String..., account: Int? = nil) -> String? {
        record(model.agree(typed.map { SecretBytes($0) }, account: account, at: now))
        return content.problem
    }

    mutating func decline() { record(model.decline(at: now)) }

    private mutating func record(_ answer: SheetAnswer?) {
        if let answer { answers.append(answer.text) }
    }
}

/// Lines of hybrid-auth.
enum Line {
    /// Members of a sign-in at a website.
    static let site = """
        "rpId":"example.com","site":"domain","operation":"sign-in","relay":"cable.example","codeAge":4,"timeout":60
        """
    static let one = #"{"name":"ada","displayName":"Ada"}"#
    static let two = #"\#(one),{"name":"bob","displayName":""}"#

    /// Returns a question with its kind and members.
    static func ask(_ kind: String, _ members: String, _ number: Int = 1) -> String {
        #"{"ask":\#(number),"kind":"\#(kind)"\#(members.isEmpty ? "" : ",\(members)")}"#
    }

    static func pin(_ members: String = "", _ number: Int = 1) -> String {
        ask("pin", site + (members.isEmpty ? "" : ",\(members)"), number)
    }

    static func account(_ accounts: String, _ members: String = "", _ number: Int = 1) -> String {
        ask("account", #"\#(site),"accounts":[\#(accounts)]\#(members)"#, number)
    }
}
