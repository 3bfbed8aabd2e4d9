// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridRelyingParty

/// Client data, as text so that tests can change its form.
struct ClientDataText {
    var members: [(name: String, json: String)]
    /// Changes the complete text.
    var change: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    init(type: String, challenge: Challenge) {
        members = [
            ("type", "\"\(type)\""), ("challenge", "\"\(Base64URL.encode(challenge.bytes))\""),
            ("origin", "\"https://example.com\""), ("crossOrigin", "false"),
        ]
    }

    subscript(name: String) -> String? {
        get { members.first { $0.name == name }?.json }
        set {
            let index = members.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let json?): members[index].json = json
            case (let index?, nil): members.remove(at: index)
            case (nil, let json?): members.append((name, json))
            case (nil, nil): break
            }
        }
    }

    var bytes: [UInt8] {
        change(Array(("{" + members.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}").utf8))
    }
}

/// The members of a response's JSON, as texts.
struct ResponseText {
    var members: [String: String]
    var response: [String: String]

    var json: String {
        func object(_ members: [String: String]) -> String {
            "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        }
        var all = members
        if all["response"] == nil { all["response"] = object(response) }
        if all["response"] == "" { all["response"] = nil }
        return object(all)
    }

    static func quoted(_ bytes: [UInt8]) -> String { "\"\(Base64URL.encode(bytes))\"" }

    init(id: [UInt8], response: [String: String]) {
        members = [
            "id": Self.quoted(id), "rawId": Self.quoted(id), "type": "\"public-key\"",
            "authenticatorAttachment": "\"cross-platform\"", "clientExtensionResults": "{}",
        ]
        self.response = response
    }
}

/// A registration in parts, each of which can be changed before or after the attestation is signed.
struct RegistrationParts {
    enum Attestation {
        case none
        case own
        case chain([[UInt8]], P256.Signing.PrivateKey)
    }

    var clientData: ClientDataText
    var id: [UInt8]
    /// Authenticator data.
    var data: [UInt8]
    var attestation = Attestation.own
    var format: CBORValue?
    let key: P256.Signing.PrivateKey
    var changeStatement: @Sendable (inout CBORMap) -> Void = { _ in }
    /// Changes the encoded attestation object.
    var changeObject: @Sendable (inout [UInt8]) -> Void = { _ in }
    var changeText: @Sendable (inout ResponseText) -> Void = { _ in }

    /// Offset of the credential ID in the authenticator data.
    static let idOffset = 55
    /// Offset of the COSE key in the authenticator data.
    var keyOffset: Int { Self.idOffset + id.count }

    /// Replaces the COSE key.
    mutating func replaceKey(_ change: (inout CBORMap) -> Void) throws {
        var map = try CBORDecoder.decode(data[keyOffset...], mode: .lenient).map ?? [:]
        change(&map)
        data = Array(data[..<keyOffset]) + CBOREncoder.encode(map)
    }

    func statement() throws -> (format: String, CBORMap) {
        let hash = Array(SHA256.hash(data: clientData.bytes))
        switch attestation {
        case .none: return ("none", [:])
        case .own:
            let signature = Array(try key.signature(for: data + hash).derRepresentation)
            return ("packed", ["alg": -7, "sig": .bytes(signature)])
        case .chain(let certificates, let key):
            let signature = Array(try key.signature(for: data + hash).derRepresentation)
            return (
                "packed", ["alg": -7, "sig": .bytes(signature), "x5c": .array(certificates.map { .bytes($0) })]
            )
        }
    }

    func json() throws -> String {
        let (name, signed) = try statement()
        var statement = signed
        changeStatement(&statement)
        let members: CBORMap = ["fmt": format ?? .text(name), "attStmt": .map(statement), "authData": .bytes(data)]
        var object = CBOREncoder.encode(members)
        changeObject(&object)
        var text = ResponseText(
            id: id,
            response: [
                "clientDataJSON": ResponseText.quoted(clientData.bytes),
                "attestationObject": ResponseText.quoted(object), "transports": #"["hybrid","internal"]"#,
            ]
        )
        changeText(&text)
        return text.json
    }
}

/// A sign-in in parts, each of which can be changed before or after it is signed.
struct AuthenticationParts {
    var clientData: ClientDataText
    var id: [UInt8]
    /// Authenticator data.
    var data: [UInt8]
    var userHandle: [UInt8]?
    var key: P256.Signing.PrivateKey
    /// Changes the signed data: authenticator data ‖ hash of the client data.
    var changeSigned: @Sendable (inout [UInt8]) -> Void = { _ in }
    var changeSignature: @Sendable (inout [UInt8]) -> Void = { _ in }
    var changeText: @Sendable (inout ResponseText) -> Void = { _ in }
    /// Counter and backup eligibility that the website stored.
    var storedCount: UInt32 = 0
    var storedEligibility = true

    func json() throws -> String {
        var signed = data + Array(SHA256.hash(data: clientData.bytes))
        changeSigned(&signed)
        var signature = Array(try key.signature(for: signed).derRepresentation)
        changeSignature(&signature)
        var text = ResponseText(
            id: id,
            response: [
                "clientDataJSON": ResponseText.quoted(clientData.bytes),
                "authenticatorData": ResponseText.quoted(data), "signature": ResponseText.quoted(signature),
            ]
        )
        if let userHandle { text.response["userHandle"] = ResponseText.quoted(userHandle) }
        changeText(&text)
        return text.json
    }
}

/// Returns the SHA-256 hash of a text.
func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
