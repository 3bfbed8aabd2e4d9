// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import HybridLocalPage

/// What anybody on this device says to the page: nobody gets in without the token or the cookie, and no answer tells them.
func fuzzPageRequest(_ input: [UInt8]) throws -> Bool {
    let secrets = try [token, cookie].map { try present(PageKey(hexadecimal: $0), "32 digits are a key") }
    var answers = PageAnswers(port: 4711, token: secrets[0], cookie: secrets[1], mostStreams: 4)
    let text = String(decoding: input, as: UTF8.self)
    var isIn = false
    for head in heads(input) {
        let wasUsed = answers.isTokenUsed
        let reply = answers.reply(to: head, streams: 0)
        let knows = (token: head.uri.contains(token), cookie: text.contains(cookie))
        switch reply {
        case .stream(let headers):
            try invariant(knows.cookie, "events are for who has the cookie")
            try invariant(headers["Set-Cookie"].isEmpty, "which is given once")
            isIn = true
        case .openedAgain(let answer):
            try invariant(knows.token && wasUsed, "only the token used again ends the ceremony")
            try hides(answer)
        case .answer(let answer):
            let isPage = answer.status == .ok
            try invariant(!isPage || knows.token || knows.cookie, "pages are for who has token or cookie")
            let given = answer.headers["Set-Cookie"]
            try invariant(given.isEmpty || (knows.token && !wasUsed && isPage), "the cookie is for the token, once")
            try hides(answer)
            isIn = isIn || isPage
        }
    }
    return isIn
}

private let token = "000102030405060708090a0b0c0d0e0f"
private let cookie = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"

private func hides(_ answer: PageAnswer) throws {
    try invariant(!answer.body.contains(token) && !answer.body.contains(cookie), "no page tells a secret")
    for (name, value) in answer.headers {
        try invariant(!value.contains(token), "nor does a field")
        try invariant(name == "Set-Cookie" || !value.contains(cookie), "but the one")
        try invariant(!value.utf8.contains { $0 < 0x20 }, "and each stays on its line")
    }
}

/// The requests that NIO makes of the bytes, until it finds fault with them.
private func heads(_ bytes: [UInt8]) -> [HTTPRequestHead] {
    let channel = EmbeddedChannel()
    defer { _ = try? channel.finish() }
    var heads: [HTTPRequestHead] = []
    do {
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    } catch {
        // What was read before the fault counts all the same.
    }
    while let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
        if case .head(let head) = part { heads.append(head) }
    }
    return heads
}
