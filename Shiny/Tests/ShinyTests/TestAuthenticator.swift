// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

/// A client with an authenticator that has one passkey, whose mistakes are set by tests.
final class TestAuthenticator {
    var origin = TestSite.origin
    /// Flags besides AT: UP, UV, BE, BS.
    var flags: UInt8 = 0x1D
    var userHandle: String?
    private(set) var id = Array(SHA256.hash(data: Data(UUID().uuidString.utf8)))
    private let key = P256.Signing.PrivateKey()
    private let relyingParty = "shiny.example"

    var encodedID: String { Self.base64URL(id) }

    /// Returns the JSON of a new credential for creation options.
    func create(_ options: [String: Any]) throws -> [String: Any] {
        let user = try #require(options["user"] as? [String: Any])
        userHandle = user["id"] as? String
        let point = key.publicKey.rawRepresentation
        let cose: [UInt8] =
            [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + point.prefix(32)
            + [0x22, 0x58, 0x20] + point.suffix(32)
        let credential = [UInt8](repeating: 0, count: 16) + [0, UInt8(id.count)] + id + cose
        let data = authenticatorData(flags | 0x40) + credential
        let object: [UInt8] =
            [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8) + [0x67] + Array("attStmt".utf8)
            + [0xA0, 0x68] + Array("authData".utf8) + [0x58, UInt8(data.count)] + data
        return credentialJSON([
            "clientDataJSON": Self.base64URL(try clientData("webauthn.create", options)),
            "attestationObject": Self.base64URL(object), "transports": ["hybrid", "internal"],
        ])
    }

    /// Returns the JSON of an assertion for request options.
    func get(_ options: [String: Any]) throws -> [String: Any] {
        let client = try clientData("webauthn.get", options)
        let data = authenticatorData(flags)
        let signature = try key.signature(for: data + Array(SHA256.hash(data: client)))
        return credentialJSON([
            "clientDataJSON": Self.base64URL(client), "authenticatorData": Self.base64URL(data),
            "signature": Self.base64URL(Array(signature.derRepresentation)), "userHandle": userHandle ?? "",
        ])
    }

    private func authenticatorData(_ flags: UInt8) -> [UInt8] {
        Array(SHA256.hash(data: Data(relyingParty.utf8))) + [flags, 0, 0, 0, 0]
    }

    private func clientData(_ type: String, _ options: [String: Any]) throws -> [UInt8] {
        let challenge = try #require(options["challenge"] as? String, "no options: \(options)")
        return Array(
            #"{"type":"\#(type)","challenge":"\#(challenge)","origin":"\#(origin)","crossOrigin":false}"#.utf8
        )
    }

    private func credentialJSON(_ response: [String: Any]) -> [String: Any] {
        [
            "id": encodedID, "rawId": encodedID, "type": "public-key", "response": response,
            "clientExtensionResults": [String: Any](),
        ]
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
