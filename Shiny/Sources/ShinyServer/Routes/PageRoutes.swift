// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HybridRelyingParty
internal import HybridWebAuthn

/// Routes for the page's files and for files at well-known places.
struct PageRoutes: Sendable {
    /// The content of `/.well-known/passkey-endpoints`.
    private struct PasskeyEndpoints: Encodable {
        let enroll: String
        let manage: String
    }

    let site: Site

    func add(to router: Router<BasicRequestContext>) {
        let page = Response(PackageResources.index_html, type: "text/html; charset=utf-8")
        // The script shows the part that fits the address and the session.
        for path in ["/", "/account"] { router.get(RouterPath(path)) { _, _ in page } }
        let files: [(String, [UInt8], String)] = [
            ("/shiny.css", PackageResources.shiny_css, "text/css; charset=utf-8"),
            ("/shiny.js", PackageResources.shiny_js, "text/javascript; charset=utf-8"),
            ("/passkeys.js", PackageResources.passkeys_js, "text/javascript; charset=utf-8"),
        ]
        for (path, bytes, type) in files {
            router.get(RouterPath(path)) { _, _ in Response(bytes, type: type) }
        }
        router.get("/.well-known/webauthn") { _, _ in
            guard !site.party.relatedOrigins.isEmpty else { return Response(status: .notFound) }
            return Response.json(bytes: site.party.relatedOriginsJSON)
        }
        router.get("/.well-known/passkey-endpoints") { _, _ in
            let origin = site.configuration.origin.text
            return try Response.json(PasskeyEndpoints(enroll: "\(origin)/account#add", manage: "\(origin)/account"))
        }
    }
}
