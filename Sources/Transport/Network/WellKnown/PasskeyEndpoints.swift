// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The pages of a site for passkeys: `/.well-known/passkey-endpoints` (W3C Passkey Endpoints §3).
///
/// Retrieving the file reveals to the network and the site that a passkey of the site exists.
package struct PasskeyEndpoints: Hashable, Sendable {
    /// Maximum length of the file in bytes.
    package static let maximumBytes = 64 * 1024
    /// The path of the file.
    package static let path = "/.well-known/passkey-endpoints"

    /// The page on which users create passkeys; `nil` if the site has none.
    package let enroll: String?
    /// The page on which users manage their passkeys; `nil` if the site has none.
    package let manage: String?

    /// Creates the pages from a file: strict JSON, an object of which unknown members are ignored.
    ///
    /// Each URL must be `https://` with a host name, in visible ASCII and of at most 2048
    /// bytes, so that a terminal shows it as it is.
    ///
    /// - Throws: ``WellKnownFileError``.
    package init(json: [UInt8]) throws(WellKnownFileError) {
        guard json.count <= Self.maximumBytes else { throw WellKnownFileError(reason: "it is longer than 64 KiB") }
        let document: JSONText
        do throws(JSONSyntaxError) {
            document = try JSONText(parsing: json, mayBeMarked: true)
        } catch {
            throw WellKnownFileError(reason: error.reason)
        }
        guard document.isObject else { throw WellKnownFileError(reason: "it is not a JSON object") }
        enroll = try Self.page(document, "enroll")
        manage = try Self.page(document, "manage")
    }

    private static func page(_ document: JSONText, _ name: String) throws(WellKnownFileError) -> String? {
        guard let member = document.member(name) else { return nil }
        // `HTTPSURL` rejects user information, which could make the host look like another one.
        guard let text = member.text, let url = try? HTTPSURL(parsing: text), IPAddress(url.host) == nil else {
            throw WellKnownFileError(reason: "its member \(name) is not an https URL")
        }
        return text
    }
}
