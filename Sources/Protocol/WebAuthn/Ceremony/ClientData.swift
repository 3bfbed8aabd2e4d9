// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
internal import HybridPrimitives

/// The website's challenge together with the origin of the request (WebAuthn Level 3 §5.8.1).
///
/// The JSON is serialized once, according to §5.8.1.1. The phone receives the hash of the JSON, and the website
/// receives the JSON.
public struct ClientData: Equatable, Sendable {
    /// The value of the member `type`.
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

    /// Creates the client data of a page; `topOrigin` is the origin of the top-level page if the page is in a frame.
    public init(_ kind: Kind, challenge: [UInt8], origin: Origin, topOrigin: Origin? = nil) {
        let foreign = topOrigin == origin ? nil : topOrigin
        // `topOrigin` must follow these four members (§5.8.1.1).
        let object = JSONText.object(
            [
                ("type", .string(kind.rawValue)),
                ("challenge", .bytes(challenge)),
                ("origin", .string(origin.text)),
                ("crossOrigin", .boolean(foreign != nil)),
            ] + (foreign.map { [("topOrigin", .string($0.text))] } ?? [])
        )
        json = Array(object.serialized(.clientData).utf8)
        hash = ClientDataHash(checked: Array(SHA256.hash(data: json)))
    }
}
