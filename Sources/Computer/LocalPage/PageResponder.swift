// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1

/// The responder that checks each request and creates the reply, independent of sockets.
///
/// Checks are made in this order: Host (against DNS rebinding), Origin and Sec-Fetch-Site (against other pages and
/// other ports of this computer), path, method, token or cookie. An error response contains only the reason. Responses
/// can't be stored, or be framed or read by other origins.
struct PageResponder {
    static let tokenPath = "/open/"

    /// The origin of the page: `http://127.0.0.1:PORT`.
    let origin: String
    /// True if the token has been exchanged for a cookie.
    private(set) var isTokenUsed = false

    private let authority: String
    private let token: PageToken
    private let cookie: PageToken
    private let cookieName: String
    private let maximumStreams: Int

    init(port: Int, token: PageToken, cookie: PageToken, maximumStreams: Int) {
        authority = "127.0.0.1:\(port)"
        origin = "http://\(authority)"
        self.token = token
        self.cookie = cookie
        // Browsers store cookies by host, not by port. The cookie of another program's page must not replace this one.
        cookieName = "hybrid-\(port)"
        self.maximumStreams = maximumStreams
    }

    /// Returns the reply to a request.
    ///
    /// - Parameters:
    ///   - head: The request.
    ///   - streams: The number of open event streams.
    mutating func reply(to head: HTTPRequestHead, streams: Int) -> PageReply {
        guard head.headers["Host"] == [authority] else {
            return .response(PageResponse(.misdirectedRequest, "This is not the requested host."))
        }
        guard isSameOrigin(head) else {
            return .response(PageResponse(.forbidden, "Other pages are not permitted to send requests here."))
        }
        let path = head.uri
        guard path == "/" || path == "/events" || path.utf8.starts(with: Self.tokenPath.utf8) else {
            return .response(PageResponse(.notFound, "There is nothing here."))
        }
        guard head.method == .GET else {
            var response = PageResponse(.methodNotAllowed, "GET is required.")
            response.headers.add(name: "Allow", value: "GET")
            return .response(response)
        }
        if path.utf8.starts(with: Self.tokenPath.utf8) { return exchange(path.dropFirst(Self.tokenPath.count)) }
        guard hasCookie(head) else {
            let sentence = "This page opens only with the link that hybrid-client made for it."
            return .response(PageResponse(.forbidden, sentence))
        }
        if path == "/" {
            return .response(PageResponse(document: PageDocument.live(nonce: PageToken().hexadecimal)))
        }
        guard streams < maximumStreams else {
            return .response(PageResponse(.serviceUnavailable, "This page is open in too many tabs."))
        }
        return .stream(PageResponse.streamHeaders)
    }

    /// Exchanges the token for a cookie, once.
    private mutating func exchange(_ text: Substring) -> PageReply {
        guard let key = PageToken(hexadecimal: text), key == token else {
            return .response(PageResponse(.notFound, "There is nothing here."))
        }
        guard !isTokenUsed else {
            let sentence = "This link was already used, perhaps by another user. The ceremony has ended."
            return .tokenReused(PageResponse(.gone, sentence))
        }
        isTokenUsed = true
        // The document navigates to the page itself instead of an HTTP redirect. Browsers attribute a redirected
        // request to the page that contained the link, so they would not send the SameSite=Strict cookie.
        var response = PageResponse(document: PageDocument.forwarding())
        response.headers.add(
            name: "Set-Cookie",
            value: "\(cookieName)=\(cookie.hexadecimal); Path=/; HttpOnly; SameSite=Strict"
        )
        return .response(response)
    }

    /// Returns true unless the request comes from a page of another origin.
    ///
    /// Browsers send `Origin` with cross-origin requests of pages, and `Sec-Fetch-Site` with all requests. The value
    /// `none` means that the user entered an address or opened a link outside the browser.
    private func isSameOrigin(_ head: HTTPRequestHead) -> Bool {
        let origins = head.headers["Origin"]
        guard origins.isEmpty || origins == [origin] else { return false }
        let sites = head.headers["Sec-Fetch-Site"]
        return sites.isEmpty || sites == ["same-origin"] || (sites == ["none"] && head.uri != "/events")
    }

    private func hasCookie(_ head: HTTPRequestHead) -> Bool {
        head.headers["Cookie"].contains { field in
            field.split(separator: ";").contains { pair in
                let pair = pair.drop { $0 == " " }
                guard pair.utf8.starts(with: "\(cookieName)=".utf8) else { return false }
                return PageToken(hexadecimal: pair.dropFirst(cookieName.count + 1)).map { $0 == cookie } ?? false
            }
        }
    }
}

/// The reply to a request.
enum PageReply {
    /// A response, after which the connection is closed.
    case response(PageResponse)
    /// A response to a second use of the token, which ends the ceremony.
    case tokenReused(PageResponse)
    /// An event stream with these headers, which lasts until the connection is closed.
    case stream(HTTPHeaders)
}

/// A complete HTTP response.
struct PageResponse {
    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var body: String

    /// Creates an error response with a line of text.
    init(_ status: HTTPResponseStatus, _ text: String) {
        self.status = status
        headers = Self.headers(type: "text/plain; charset=utf-8", policy: "default-src 'none'; frame-ancestors 'none'")
        body = text + "\n"
    }

    /// Creates a response with a document.
    init(document: PageDocument) {
        status = .ok
        headers = Self.headers(type: "text/html; charset=utf-8", policy: document.policy)
        body = document.text
    }

    /// The headers of an event stream.
    static var streamHeaders: HTTPHeaders {
        headers(type: "text/event-stream", policy: "default-src 'none'; frame-ancestors 'none'")
    }

    private static func headers(type: String, policy: String) -> HTTPHeaders {
        [
            "Content-Type": type,
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Connection": "close",
        ]
    }
}
