// SPDX-License-Identifier: Apache-2.0

internal import Crypto
private import FoundationEssentials
internal import HybridPrimitives

/// The client data of a response (WebAuthn Level 3 §5.8.1).
///
/// The members are as the client sent them; only their JSON types are verified.
public struct CollectedClientData: Hashable, Sendable {
    /// The bytes of which the authenticator signed the hash.
    public let json: [UInt8]
    /// Member `type`.
    public let type: String
    /// Member `challenge`, in base64url; `nil` if it is empty.
    public let challenge: String?
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
        // *UTF-8 decode* removes a byte order mark (§7.1 step 5).
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = json.starts(with: mark) ? Array(json.dropFirst(mark.count)) : json
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(text)) else { return nil }
        self.json = json
        type = members.type
        challenge = members.challenge.isEmpty ? nil : members.challenge
        origin = members.origin
        isCrossOrigin = members.crossOrigin ?? false
        topOrigin = members.topOrigin
    }

    /// SHA-256 of the JSON, 32 bytes.
    var hash: [UInt8] { Array(SHA256.hash(data: json)) }

    private struct Members: Decodable {
        let type: String
        let challenge: String
        let origin: String
        let crossOrigin: Bool?
        let topOrigin: String?
    }
}
