// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HybridWebAuthn

/// The cookie that holds the identifier of a session.
struct SessionCookie: Sendable {
    private let name: String
    private let lifetime: Int

    init(origin: Origin, limits: ShinyLimits) {
        // Browsers require `Secure` for the prefix, and some don't accept `Secure` from http://localhost.
        name = origin.text.hasPrefix("https:") ? "__Host-session" : "session"
        lifetime = Int(limits.sessionLifetime.components.seconds)
    }

    /// Returns the identifier that a request contains.
    func value(in request: Request) -> String? { request.cookies[name]?.value }

    /// Returns the field that sets the cookie.
    func field(_ session: Session) -> String {
        let secure = name.hasPrefix("__Host-") ? "; Secure" : ""
        return "\(name)=\(session.id); Path=/; Max-Age=\(lifetime); HttpOnly; SameSite=Strict\(secure)"
    }
}

extension Response {
    /// Returns the response with the session's cookie.
    func setting(_ session: Session, as cookie: SessionCookie) -> Response {
        var response = self
        response.headers[.setCookie] = cookie.field(session)
        return response
    }
}
