// SPDX-License-Identifier: Apache-2.0

import HybridPinentry
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridAsk

extension AskConversation {
    /// A conversation whose program is ready.
    static var ready: AskConversation {
        var conversation = AskConversation()
        conversation.receive(#"{"ready":1}"#)
        return conversation
    }

    mutating func receive(_ text: String) { Array(text.utf8).withUnsafeBytes { receive($0) } }

    /// The outcome of the last question in words; `nil` while it is open.
    var words: String? {
        switch outcome {
        case .success(.typed(let secret))?: "typed \(secret.text)"
        case .success(.account(let index))?: "account \(index)"
        case .success(.agreed)?: "agreed"
        case .success(.named(let name))?: "named \(name.text)"
        case .failure(let refusal)?: "\(refusal)"
        case nil: nil
        }
    }
}

extension AskQuestion {
    /// Returns a question of a kind, for two accounts.
    static func sample(_ kind: Kind = .pin) -> AskQuestion {
        let accounts = JSONText.array([.object([("name", .string("a"))]), .object([("name", .string("b"))])])
        return AskQuestion(kind, within: .seconds(60), [("rpId", .string("example.com")), ("accounts", accounts)])
    }
}

@Suite("Conversations with a program that asks")
struct AskConversationTests {
    @Test("A question is one line with its number, kind and time limit")
    func question() throws {
        var conversation = AskConversation.ready
        let line = try conversation.ask(AskQuestion(.newPIN, within: .seconds(60), [("path", .string("/v\n\u{202E}"))]))
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"ask":1,"kind":"new-pin","timeout":60,"path":"/v\n\u202e"}"# + "\n"
        )
        let short = try conversation.ask(AskQuestion(.pin, within: .milliseconds(1), []))
        #expect(String(decoding: short, as: UTF8.self) == #"{"ask":2,"kind":"pin","timeout":1}"# + "\n")
    }

    @Test(
        "Each kind has its answer",
        arguments: [
            (AskQuestion.Kind.newPIN, #""pin":"1234""#, "typed 1234"), (.pin, #""pin":"""#, "typed "),
            (.account, #""account":1"#, "account 1"), (.create, #""agree":true"#, "agreed"),
            (.notice, #""agree":true"#, "agreed"), (.link, #""agree":true"#, "agreed"),
            (.openedLink, #""agree":true"#, "agreed"), (.delete, #""agree":true"#, "agreed"),
            (.recoveryCode, #""agree":true"#, "agreed"), (.secret, #""secret":"a b""#, "typed a b"),
            (.newSecret, #""secret":"x""#, "typed x"), (.question, #""agree":true"#, "agreed"),
        ]
    )
    func kinds(kind: AskQuestion.Kind, answer: String, words: String) throws {
        let answers = [#""pin":"1""#, #""secret":"1""#, #""account":0"#, #""agree":true"#]
        func isSame(_ one: String) -> Bool { one.prefix(5) == answer.prefix(5) }
        for other in answers where !isSame(other) {
            var conversation = AskConversation.ready
            _ = try conversation.ask(.sample(kind))
            conversation.receive("{\"answer\":1,\(other)}")
            #expect(conversation.words == "declined", "\(other) is no answer")
        }
        let refusals: [String] = [
            #""decline":true"#, #""agree":false"#, answer + #","decline":true"#, answer + #","ready":1"#,
        ]
        for refusal in refusals {
            var conversation = AskConversation.ready
            _ = try conversation.ask(.sample(kind))
            conversation.receive("{\"answer\":1,\(refusal)}")
            #expect(conversation.words == "declined", "\(refusal) is no answer")
        }
        var conversation = AskConversation.ready
        _ = try conversation.ask(.sample(kind))
        #expect(conversation.words == nil)
        conversation.receive("{\"answer\":1,\(answer)}")
        #expect(conversation.words == words)
    }

    @Test("A name belongs to the agreement to a link", arguments: AskQuestion.Kind.allCases)
    func name(kind: AskQuestion.Kind) throws {
        var conversation = AskConversation.ready
        _ = try conversation.ask(.sample(kind))
        conversation.receive(#"{"answer":1,"name":"studio","agree":true}"#)
        #expect(conversation.words == (kind == .link ? "named studio" : "declined"))
        for answer in [#""name":"studio""#, #""agree":false,"name":"studio""#, #""decline":true,"name":"studio""#] {
            _ = try conversation.ask(.sample(.link))
            conversation.receive("{\"answer\":\(conversation.number),\(answer)}")
            #expect(conversation.words == "declined", "\(answer)")
        }
    }

    @Test("Every kind has been tested") func allKinds() { #expect(AskQuestion.Kind.allCases.count == 12) }

    @Test("An index beyond the accounts counts as declined", arguments: [2, 3, 64, 999_999_999])
    func index(index: Int) throws {
        var conversation = AskConversation.ready
        _ = try conversation.ask(.sample(.account))
        conversation.receive("{\"answer\":1,\"account\":\(index)}")
        #expect(conversation.words == "declined")
    }

    @Test("An answer with another number is ignored")
    func otherNumber() throws {
        var conversation = AskConversation.ready
        _ = try conversation.ask(.sample())
        _ = try conversation.ask(.sample())
        for number in [0, 1, 3] {
            conversation.receive("{\"answer\":\(number),\"pin\":\"1234\"}")
            conversation.receive("{\"answer\":\(number),\"decline\":true}")
            #expect(conversation.words == nil)
        }
        conversation.receive(#"{"answer":2,"pin":"5678"}"#)
        #expect(conversation.words == "typed 5678")
    }

    @Test(
        "A malformed line counts as declined",
        arguments: ["", "OK", #"{"answer":1}"#, #"{"answer":1,"pin":"1","pin":"2"}"#, #"{"pin":"1"}"#, #"{"ready":1}"#]
    )
    func malformed(line: String) throws {
        var conversation = AskConversation.ready
        conversation.receive(line)
        #expect(conversation.words == nil, "without a question it has no effect")
        _ = try conversation.ask(.sample())
        conversation.receive(line)
        #expect(conversation.words == "declined")
        _ = try conversation.ask(.sample())
        conversation.receive(#"{"answer":2,"pin":"1"}"#)
        #expect(conversation.words == "typed 1", "and the next question is a new one")
    }

    @Test("The first of two answers counts")
    func twoAnswers() throws {
        var conversation = AskConversation.ready
        _ = try conversation.ask(.sample())
        conversation.receive(#"{"answer":1,"pin":"1"}"#)
        conversation.receive(#"{"answer":1,"pin":"2"}"#)
        #expect(conversation.words == "typed 1")
        _ = try conversation.ask(.sample())
        conversation.receive(#"{"answer":1,"pin":"3"}"#)
        #expect(conversation.words == nil)
    }

    @Test("A withdrawn question has no answer any more", arguments: AskWithdrawal.allCases)
    func withdrawn(cause: AskWithdrawal) throws {
        var conversation = AskConversation.ready
        #expect(conversation.withdraw(cause) == nil, "no question is open")
        _ = try conversation.ask(.sample())
        let line = String(decoding: conversation.withdraw(cause) ?? [], as: UTF8.self)
        #expect(line == "{\"withdraw\":1,\"because\":\"\(cause.rawValue)\"}\n")
        let words = cause == .timedOut ? "timedOut" : "interrupted"
        #expect(conversation.words == words)
        conversation.receive(#"{"answer":1,"pin":"1"}"#)
        #expect(conversation.words == words)
        #expect(conversation.withdraw(cause) == nil)
    }

    @Test("An answer that precedes its question is ignored")
    func early() throws {
        var conversation = AskConversation.ready
        conversation.receive(#"{"answer":1,"pin":"1"}"#)
        _ = try conversation.ask(.sample())
        #expect(conversation.words == nil)
    }

    @Test(
        "Anything but the greeting at first is a violation",
        arguments: ["", "{}", #"{"ready":2}"#, #"{"answer":1}"#]
    )
    func notReady(line: String) throws {
        var conversation = AskConversation()
        _ = try conversation.ask(.sample())
        conversation.receive(line)
        #expect(conversation.phase == .failed && conversation.words == "declined")
        conversation.receive(#"{"ready":1}"#)
        #expect(conversation.phase == .failed)
        #expect(throws: AskRefusal.declined) { try conversation.ask(.sample()) }
    }

    @Test("A flood of lines without effect ends the conversation")
    func flood() throws {
        var conversation = AskConversation.ready
        _ = try conversation.ask(.sample())
        for _ in 0..<AskConversation.maximumIgnored { conversation.receive(#"{"answer":7,"pin":"1"}"#) }
        #expect(conversation.isOpen && conversation.words == nil)
        conversation.receive(#"{"answer":7,"pin":"1"}"#)
        #expect(conversation.phase == .ended && conversation.words == "declined")
    }

    @Test("The end declines the open question and all later ones")
    func end() throws {
        var conversation = AskConversation.ready
        _ = try conversation.ask(.sample())
        conversation.end()
        #expect(conversation.words == "declined" && conversation.phase == .ended)
        #expect(throws: AskRefusal.declined) { try conversation.ask(.sample()) }
        var early = AskConversation()
        early.end()
        #expect(early.phase == .failed)
    }

    @Test("A question that is too long is not asked")
    func tooLong() throws {
        var conversation = AskConversation.ready
        let name = String(repeating: "x", count: AskQuestion.maximumLine)
        let question = AskQuestion(.question, within: .seconds(1), [("text", .string(name))])
        #expect(!question.fits)
        #expect(throws: AskRefusal.tooLong) { try conversation.ask(question) }
        #expect(conversation.number == 0)
    }

    @Test("Events are lines, and messages are shortened")
    func events() {
        func text(_ event: AskEvent) -> String { String(decoding: event.line ?? [], as: UTF8.self) }
        #expect(text(.state("asked")) == "{\"state\":\"asked\"}\n")
        #expect(text(.notice("old-code", "OLD")) == "{\"notice\":\"old-code\",\"message\":\"OLD\"}\n")
        #expect(text(.end(.done)) == "{\"end\":\"done\"}\n")
        let declined = AskEvent.end(.declined(code: "declined", message: "you declined"))
        #expect(text(declined) == "{\"end\":\"declined\",\"code\":\"declined\",\"message\":\"you declined\"}\n")
        let failed = AskEvent.end(.failed(code: "x", message: "it failed", remedy: "try again"))
        #expect(
            text(failed)
                == "{\"end\":\"failed\",\"code\":\"x\",\"message\":\"it failed\",\"remedy\":\"try again\"}\n"
        )
        let long = String(repeating: "\u{E000}", count: 100_000)
        #expect((AskEvent.notice("x", long).line?.count ?? 0) > 10_000)
    }
}
