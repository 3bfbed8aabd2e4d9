// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1

/// What is answered to which request, apart from sockets.
///
/// The checks come in this order: Host (a page whose name was made to lead here, DNS rebinding, has another), Origin
/// and Sec-Fetch-Site (other pages and other ports of this device), method, path, token or cookie. No answer tells more
/// than what was wrong, and none may be framed, kept or read by other origins.
struct PageAnswers {
    static let tokenPath = "/open/"

    /// `http://127.0.0.1:PORT`.
    let origin: String
    /// Whether the token has done its service.
    private(set) var isTokenUsed = false

    private let authority: String
    private let token: PageKey
    private let cookie: PageKey
    private let cookieName: String
    private let mostStreams: Int

    init(port: Int, token: PageKey, cookie: PageKey, mostStreams: Int) {
        authority = "127.0.0.1:\(port)"
        origin = "http://\(authority)"
        self.token = token
        self.cookie = cookie
        // Browsers keep cookies by host and not by port; another program's page must not overwrite this one.
        cookieName = "hybrid-\(port)"
        self.mostStreams = mostStreams
    }

    /// The answer to a request.
    ///
    /// - Parameter streams: how many event streams there are now.
    mutating func reply(to head: HTTPRequestHead, streams: Int) -> PageReply {
        guard head.headers["Host"] == [authority] else {
            return .answer(PageAnswer(.misdirectedRequest, "This is not the host you asked for."))
        }
        guard isOfOurOrigin(head) else {
            return .answer(PageAnswer(.forbidden, "Other pages may not ask here."))
        }
        let path = head.uri
        guard path == "/" || path == "/events" || path.utf8.starts(with: Self.tokenPath.utf8) else {
            return .answer(PageAnswer(.notFound, "There is nothing here."))
        }
        guard head.method == .GET else {
            var answer = PageAnswer(.methodNotAllowed, "GET is required.")
            answer.headers.add(name: "Allow", value: "GET")
            return .answer(answer)
        }
        if path.utf8.starts(with: Self.tokenPath.utf8) { return exchange(path.dropFirst(Self.tokenPath.count)) }
        guard hasCookie(head) else {
            return .answer(PageAnswer(.forbidden, "This page opens only by the link that hybrid-client made for it."))
        }
        if path == "/" { return .answer(PageAnswer(document: PageDocument.live(nonce: PageKey().hexadecimal))) }
        guard streams < mostStreams else {
            return .answer(PageAnswer(.serviceUnavailable, "This page is open too often."))
        }
        return .stream(PageAnswer.streamHeaders)
    }

    /// A cookie for the token, once.
    private mutating func exchange(_ text: Substring) -> PageReply {
        guard let key = PageKey(hexadecimal: text), key == token else {
            return .answer(PageAnswer(.notFound, "There is nothing here."))
        }
        guard !isTokenUsed else {
            return .openedAgain(
                PageAnswer(.gone, "This link was used already, perhaps by somebody else. The ceremony is ended.")
            )
        }
        isTokenUsed = true
        // A page that goes on by itself, not a redirection: those are still requests of whoever named this link, and
        // such get no cookie that is SameSite=Strict.
        var answer = PageAnswer(document: PageDocument.entrance())
        answer.headers.add(
            name: "Set-Cookie",
            value: "\(cookieName)=\(cookie.hexadecimal); Path=/; HttpOnly; SameSite=Strict"
        )
        return .answer(answer)
    }

    /// Browsers send `Origin` with what pages ask of other origins, and `Sec-Fetch-Site` with everything: `none` is a
    /// person, by an address or a link outside of the web.
    private func isOfOurOrigin(_ head: HTTPRequestHead) -> Bool {
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
                return PageKey(hexadecimal: pair.dropFirst(cookieName.count + 1)).map { $0 == cookie } ?? false
            }
        }
    }
}

/// How a connection goes on after a request.
enum PageReply {
    /// One answer, then it is closed.
    case answer(PageAnswer)
    /// The same, and the ceremony ends: the token was used again.
    case openedAgain(PageAnswer)
    /// Events, as long as it is open.
    case stream(HTTPHeaders)
}

/// A whole answer.
struct PageAnswer {
    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var body: String

    /// A refusal, as a line of text.
    init(_ status: HTTPResponseStatus, _ text: String) {
        self.status = status
        headers = Self.headers(type: "text/plain; charset=utf-8", policy: "default-src 'none'; frame-ancestors 'none'")
        body = text + "\n"
    }

    /// A page.
    init(document: PageDocument) {
        status = .ok
        headers = Self.headers(type: "text/html; charset=utf-8", policy: document.policy)
        body = document.text
    }

    /// What an event stream begins with.
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
