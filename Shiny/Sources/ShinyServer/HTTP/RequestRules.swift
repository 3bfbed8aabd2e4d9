// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HybridCTAP
internal import HybridWebAuthn

/// Rules that every request must follow, and headers that every response has.
///
/// Cross-site request forgery: the cookie is `SameSite=Strict`, and a request that changes something must have the
/// `Origin` of the host that it was sent to, and the type `application/json`, which no form can have.
struct RequestRules: RouterMiddleware {
    typealias Context = BasicRequestContext

    private let origins: [String: String]

    /// Creates the rules for these origins.
    init(origins: some Sequence<Origin>) {
        self.origins = Dictionary(
            origins.map { (Self.authority(of: $0), $0.text) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            try check(request)
            response = try await next(request, context)
        } catch let error as SiteError {
            response = Self.response(to: error)
        } catch let error as HTTPError where error.status == .notFound || error.status == .methodNotAllowed {
            response = Response(status: error.status)
        }
        for (name, value) in Self.headers { response.headers[name] = value }
        return response
    }

    private func check(_ request: Request) throws(SiteError) {
        // Other names come from rebinding of DNS.
        guard let host = request.head.authority?.lowercased(), let origin = origins[host] else { throw .otherHost }
        guard request.method == .post else { return }
        guard request.headers[.origin] == origin, [nil, "same-origin"].contains(request.headers[.fetchSite]) else {
            throw .otherOrigin
        }
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type == "application/json" else { throw .notJSON }
    }

    /// Returns host and port as requests name them.
    private static func authority(of origin: Origin) -> String {
        origin.text.split(separator: "://", maxSplits: 1).last.map(String.init) ?? origin.host.text
    }

    private static func response(to error: SiteError) -> Response {
        let refusal = Refusal(
            error: error.code,
            message: error.sentence,
            unknownCredential: error.unknownCredential?.bytes.base64URL
        )
        return (try? Response.json(refusal, status: error.status)) ?? Response(status: error.status)
    }

    /// The body of a refusal.
    private struct Refusal: Encodable {
        let error: String
        let message: String
        let unknownCredential: String?
    }

    private static let headers: [(HTTPField.Name, String)] = [
        (
            .contentSecurityPolicy,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
        ),
        (.xContentTypeOptions, "nosniff"), (.cacheControl, "no-store"), (.referrerPolicy, "no-referrer"),
        (.permissionsPolicy, "publickey-credentials-get=(self), publickey-credentials-create=(self)"),
        (.crossOriginOpenerPolicy, "same-origin"), (.crossOriginResourcePolicy, "same-origin"),
    ]
}

extension HTTPField.Name {
    /// Creates the name of a field that HTTPTypes does not know.
    private static func known(_ name: String) -> Self {
        guard let field = Self(name) else { preconditionFailure("\(name) is a token") }
        return field
    }

    static let fetchSite = known("Sec-Fetch-Site")
    static let referrerPolicy = known("Referrer-Policy")
    static let permissionsPolicy = known("Permissions-Policy")
    static let crossOriginOpenerPolicy = known("Cross-Origin-Opener-Policy")
}
