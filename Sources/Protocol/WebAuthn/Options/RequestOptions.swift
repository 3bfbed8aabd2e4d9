// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridPrimitives

/// `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 §5.1.8).
public struct RequestOptions: Equatable, Sendable {
    /// Challenge of the website; at least one byte.
    public var challenge: [UInt8]
    /// Relying party ID of the request; `nil` means the host of the origin.
    public var relyingPartyID: String?
    /// Acceptable passkeys; empty if any passkey of the website is acceptable.
    public var allowCredentials: [CredentialDescriptor]
    /// Requirement for user verification.
    public var userVerification: UserVerificationRequirement
    /// Timeout of the website in milliseconds; `nil` if absent.
    public var timeoutMilliseconds: Int?
    /// Extension inputs.
    public var extensions: RequestExtensions
}

extension RequestOptions {
    /// Reads the options; unknown members are ignored.
    init(_ json: JSONCursor) throws {
        challenge = try json.challenge
        relyingPartyID = try json.memberIfPresent("rpId")?.text
        let list = try json.memberIfPresent("allowCredentials")
        allowCredentials = try list?.descriptors ?? []
        userVerification = UserVerificationRequirement(optional: try json.memberIfPresent("userVerification")?.text)
        timeoutMilliseconds = try json.memberIfPresent("timeout")?.integer()
        try json.checkHints()
        // If all entries are ignored, the list must not become empty, because an empty list allows any passkey.
        if let list, allowCredentials.isEmpty, try !list.elements.isEmpty {
            let reason = "has no entry of type public-key with an ID of 1 to 1023 bytes"
            throw OptionsError.invalid(field: list.path, because: reason, .notAllowedError)
        }
        // Extensions count the entries that are ignored, too.
        let listed = try list?.elements.map { try $0.member("id").bytes } ?? []
        extensions = try RequestExtensions(json.memberIfPresent("extensions"), listed: listed)
    }
}
