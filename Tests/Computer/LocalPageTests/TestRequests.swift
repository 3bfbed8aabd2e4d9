// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1

@testable import HybridLocalPage

/// Requests to a responder on port 4711.
struct TestRequests {
    static let host = "127.0.0.1:4711"

    let token = PageToken()
    let cookie = PageToken()
    var responder: PageResponder

    init() { responder = PageResponder(port: 4711, token: token, cookie: cookie, maximumStreams: 4) }

    var tokenPath: String { "/open/\(token.hexadecimal)" }
    var cookieField: (String, String) { ("Cookie", "hybrid-4711=\(cookie.hexadecimal)") }

    mutating func reply(
        _ path: String,
        method: HTTPMethod = .GET,
        hosts: [String] = [host],
        _ fields: [(String, String)] = [],
        streams: Int = 0
    ) -> PageReply {
        let headers = HTTPHeaders(hosts.map { ("Host", $0) } + fields)
        return responder.reply(
            to: HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers),
            streams: streams
        )
    }

    /// Returns the status of the response; 200 for a stream.
    mutating func status(
        _ path: String,
        method: HTTPMethod = .GET,
        hosts: [String] = [host],
        _ fields: [(String, String)] = [],
        streams: Int = 0
    ) -> UInt {
        reply(path, method: method, hosts: hosts, fields, streams: streams).response?.status.code ?? 200
    }
}

extension PageReply {
    /// The complete response; `nil` for a stream.
    var response: PageResponse? {
        switch self {
        case .response(let response), .tokenReused(let response): response
        case .stream: nil
        }
    }

    var headers: HTTPHeaders {
        switch self {
        case .response(let response), .tokenReused(let response): response.headers
        case .stream(let headers): headers
        }
    }

    var isTokenReused: Bool {
        if case .tokenReused = self { return true }
        return false
    }

    var isStream: Bool { response == nil }
}
