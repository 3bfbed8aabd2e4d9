// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridAsk
@testable import HybridPinentry
@testable import HybridPrimitives

/// Fuzzes the lines of a program that asks: the first byte is the kind of the question, the second one its number, and the
/// lines follow.
func fuzzAskLine(_ input: [UInt8]) throws -> Bool {
    guard input.count > 2 else { return false }
    let kinds = AskQuestion.Kind.allCases
    let kind = kinds[Int(input[0]) % kinds.count]
    var conversation = AskConversation()
    Array(#"{"ready":1}"#.utf8).withUnsafeBytes { conversation.receive($0) }
    let accounts = JSONText.array([.object([]), .object([])])
    let question = AskQuestion(kind, within: .seconds(1), [("accounts", accounts)])
    for _ in 0...(input[1] % 3) { _ = try conversation.ask(question) }
    var isAccepted = false
    for bytes in input.dropFirst(2).split(separator: 0x0A, omittingEmptySubsequences: false) {
        isAccepted = try receive(Array(bytes), question, &conversation) || isAccepted
    }
    return isAccepted
}

private func receive(_ bytes: [UInt8], _ question: AskQuestion, _ conversation: inout AskConversation) throws -> Bool {
    let before = conversation.outcome
    bytes.withUnsafeBytes { conversation.receive($0) }
    let line = bytes.withUnsafeBytes { AskLine($0) }
    // The parser for everything else is independent of this one.
    let json = try? JSONText(parsing: bytes)
    try invariant(line == nil || json != nil, "a line is JSON")
    let number = line?.answer
    try invariant(number == json?.member("answer")?.integer() || line == nil, "numbers are read alike")
    for (name, secret) in [("pin", line?.pin), ("secret", line?.secret), ("name", line?.name)] {
        guard let secret else { continue }
        let text = try present(json?.member(name)?.text, "a secret is a string")
        try invariant(secret.withUnsafeBytes { Array($0) } == Array(text.utf8), "secrets are read alike")
    }
    guard before == nil, let outcome = conversation.outcome else { return false }
    try invariant(number == nil || number == conversation.number, "only the open question is answered")
    guard case .success(let answer) = outcome else { return false }
    let decoded = try present(line, "an answer is a line")
    try invariant(decoded.decline == nil && number == conversation.number, "a refusal is no answer")
    switch (answer, question.form) {
    case (.typed, .pin): try invariant(decoded.pin != nil, "the answer is a PIN")
    case (.typed, .secret): try invariant(decoded.secret != nil, "the answer is a secret")
    case (.account(let index), .account(let count)): try invariant((0..<count).contains(index), "the account exists")
    case (.agreed, .agreement), (.agreed, .namedAgreement), (.named, .namedAgreement):
        try invariant(decoded.agree == true, "the answer is consent")
    default: try invariant(false, "the answer is of the question's form")
    }
    return true
}
