// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
internal import HybridPrimitives

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

    /// Client data of a page, alone in its window or framed by a page of another origin.
    ///
    /// - Parameter topOrigin: The window's own page, if it is of another origin than the page that asks.
    public init(_ kind: Kind, challenge: [UInt8], origin: Origin, topOrigin: Origin? = nil) {
        let foreign = topOrigin == origin ? nil : topOrigin
        // What goes beyond these four follows behind them (§5.8.1.1, step 11).
        let object = JSONText.object(
            [
                ("type", .string(kind.rawValue)),
                ("challenge", .string(Base64URL.encode(challenge))),
                ("origin", .string(origin.text)),
                ("crossOrigin", .boolean(foreign != nil)),
            ] + (foreign.map { [("topOrigin", .string($0.text))] } ?? [])
        )
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
