// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1

@testable import HybridLocalPage

/// A page's answers on port 4711, and requests to them.
struct Asking {
    static let own = "127.0.0.1:4711"

    let token = PageKey()
    let cookie = PageKey()
    var answers: PageAnswers

    init() { answers = PageAnswers(port: 4711, token: token, cookie: cookie, mostStreams: 4) }

    var tokenPath: String { "/open/\(token.hexadecimal)" }
    var cookieField: (String, String) { ("Cookie", "hybrid-4711=\(cookie.hexadecimal)") }

    mutating func reply(
        _ path: String,
        method: HTTPMethod = .GET,
        hosts: [String] = [own],
        _ fields: [(String, String)] = [],
        streams: Int = 0
    ) -> PageReply {
        let headers = HTTPHeaders(hosts.map { ("Host", $0) } + fields)
        return answers.reply(
            to: HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers),
            streams: streams
        )
    }

    /// The status of the answer; 200 for a stream.
    mutating func status(
        _ path: String,
        method: HTTPMethod = .GET,
        hosts: [String] = [own],
        _ fields: [(String, String)] = [],
        streams: Int = 0
    ) -> UInt {
        reply(path, method: method, hosts: hosts, fields, streams: streams).answer?.status.code ?? 200
    }
}

extension PageReply {
    /// The whole answer; `nil` for a stream.
    var answer: PageAnswer? {
        switch self {
        case .answer(let answer), .openedAgain(let answer): answer
        case .stream: nil
        }
    }

    var headers: HTTPHeaders {
        switch self {
        case .answer(let answer), .openedAgain(let answer): answer.headers
        case .stream(let headers): headers
        }
    }

    var isOpenedAgain: Bool {
        if case .openedAgain = self { return true }
        return false
    }

    var isStream: Bool { answer == nil }
}
