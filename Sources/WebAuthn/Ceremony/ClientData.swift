// SPDX-License-Identifier: Apache-2.0

public import CTAP
internal import Crypto

/// What the website wants signed, with the browser's word on where it came from (WebAuthn Level 3 §5.8.1).
///
/// The bytes are made once, by the serialization of §5.8.1.1; their hash goes to the phone, and they
/// themselves to the website.
public struct ClientData: Equatable, Sendable {
    /// What is being done.
    public enum Kind: String, Sendable {
        /// A registration.
        case create = "webauthn.create"
        /// A sign-in.
        case get = "webauthn.get"
    }

    /// The JSON, in UTF-8.
    public let json: [UInt8]
    /// SHA-256 of the JSON.
    public let hash: ClientDataHash

    /// Client data of a page that is not framed by another site.
    public init(_ kind: Kind, challenge: [UInt8], origin: Origin) {
        let object = JSONText.object([
            ("type", .string(kind.rawValue)),
            ("challenge", .string(Base64URL.encode(challenge))),
            ("origin", .string(origin.text)),
            ("crossOrigin", .boolean(false)),
        ])
        json = Array(object.serialized.utf8)
        hash = ClientDataHash(digestOf: json)
    }
}

extension ClientDataHash {
    fileprivate init(digestOf bytes: [UInt8]) {
        guard let hash = ClientDataHash(bytes: Array(SHA256.hash(data: bytes))) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        self = hash
    }
}
