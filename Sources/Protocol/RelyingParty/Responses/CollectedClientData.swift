// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The client data of a response (WebAuthn Level 3 §5.8.1).
///
/// The members are as the client sent them; only their JSON types are verified.
public struct CollectedClientData: Hashable, Sendable {
    /// The bytes of which the authenticator signed the hash.
    public let json: [UInt8]
    /// Member `type`.
    public let type: String
    /// Member `challenge`, in base64url.
    public let challenge: String
    /// Member `origin`, the serialized origin of the page.
    public let origin: String
    /// Member `crossOrigin`; false if absent.
    public let isCrossOrigin: Bool
    /// Member `topOrigin`, the serialized origin of the top-level page.
    public let topOrigin: String?

    /// Creates client data from its JSON; unknown members are ignored (§5.8.1.2).
    ///
    /// - Returns: `nil` if the bytes are not a JSON object with the required members.
    init?(json: [UInt8]) {
        guard let members = JSONText(decodingUTF8: json), let type = members.member("type")?.text,
            let challenge = members.member("challenge")?.text, let origin = members.member("origin")?.text
        else { return nil }
        self.json = json
        self.type = type
        self.challenge = challenge
        self.origin = origin
        switch members.member("crossOrigin") ?? .boolean(false) {
        case .boolean(let flag): isCrossOrigin = flag
        default: return nil
        }
        switch members.member("topOrigin") {
        case nil: topOrigin = nil
        case .string(let text)?: topOrigin = text
        default: return nil
        }
    }

    /// SHA-256 of the JSON, 32 bytes.
    var hash: [UInt8] { Array(SHA256.hash(data: json)) }
}
