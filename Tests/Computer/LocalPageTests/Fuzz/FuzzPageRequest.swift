// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestSupport

@testable import HybridLocalPage

/// Any bytes as requests to the page: without token or cookie there is no page, and no response discloses either.
func fuzzPageRequest(_ input: [UInt8]) throws -> Bool {
    let keys = try [token, cookie].map { try present(PageToken(hexadecimal: $0), "32 digits are a key") }
    var responder = PageResponder(port: 4711, token: keys[0], cookie: keys[1], maximumStreams: 4)
    let text = String(decoding: input, as: UTF8.self)
    var isAdmitted = false
    for head in heads(input) {
        let wasUsed = responder.isTokenUsed
        let reply = responder.reply(to: head, streams: 0)
        let knows = (token: head.uri.contains(token), cookie: text.contains(cookie))
        switch reply {
        case .stream(let headers):
            try invariant(knows.cookie, "events require the cookie")
            try invariant(headers["Set-Cookie"].isEmpty, "the cookie is set once")
            isAdmitted = true
        case .tokenReused(let response):
            try invariant(knows.token && wasUsed, "only a second use of the token ends the ceremony")
            try checkSecrets(of: response)
        case .response(let response):
            let isPage = response.status == .ok
            try invariant(!isPage || knows.token || knows.cookie, "pages require the token or the cookie")
            let given = response.headers["Set-Cookie"]
            try invariant(given.isEmpty || (knows.token && !wasUsed && isPage), "the token gives the cookie once")
            try checkSecrets(of: response)
            isAdmitted = isAdmitted || isPage
        }
    }
    return isAdmitted
}

private let token = "000102030405060708090a0b0c0d0e0f"
private let cookie = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"

private func checkSecrets(of response: PageResponse) throws {
    try invariant(!response.body.contains(token) && !response.body.contains(cookie), "no body contains a secret")
    for (name, value) in response.headers {
        try invariant(!value.contains(token), "no header contains the token")
        try invariant(name == "Set-Cookie" || !value.contains(cookie), "only Set-Cookie contains the cookie")
        try invariant(!value.utf8.contains { $0 < 0x20 }, "each header stays on its line")
    }
}

/// Returns the requests that NIO parses from the bytes, up to the first error.
private func heads(_ bytes: [UInt8]) -> [HTTPRequestHead] {
    let channel = EmbeddedChannel()
    defer { _ = try? channel.finish() }
    var heads: [HTTPRequestHead] = []
    do {
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    } catch {
        // Requests before the error count as well.
    }
    while let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
        if case .head(let head) = part { heads.append(head) }
    }
    return heads
}
