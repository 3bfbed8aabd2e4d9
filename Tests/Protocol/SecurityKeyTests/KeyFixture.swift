// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridSecurityKey
import TestSupport
import Testing

/// A key with two clients, and a phone.
struct KeyFixture {
    var key: ObservedKey
    let first: UInt32
    let second: UInt32

    init(memory: CredentialMemory = CredentialMemory(), otherKeyExists: Bool = false) throws {
        key = ObservedKey(try SampleKey.make(memory: memory))
        key.key.otherKeyExists = otherKeyExists
        first = try key.open()
        second = try key.open()
    }

    /// Sends a command of the first client and returns the response; `nil` if the client has to wait.
    mutating func send(_ command: [UInt8], on channel: UInt32? = nil) throws -> CTAPResponse? {
        Self.response(try key.receive(channel ?? first, 0x10, command))
    }

    /// Sends a command that opens a window for the phone, and returns the request that the phone receives.
    mutating func phoneRequest(
        _ command: [UInt8],
        extensions: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> CTAPRequest {
        #expect(try send(command) == nil, sourceLocation: sourceLocation)
        let request = try #require(key.window?.phone, sourceLocation: sourceLocation)
        return request.request(
            for: AuthenticatorInfo(
                versions: ["FIDO_2_0"],
                extensions: extensions,
                aaguid: .zero,
                options: [:],
                transports: []
            )
        )
    }

    /// Passes a response of the phone to the key and returns the response for the client.
    mutating func answer(_ response: CTAPResponse) throws -> CTAPResponse? {
        Self.response(try key.endPhone(with: .responded(response)))
    }

    /// Returns the response in the messages for a client; a failure of the transport counts as none.
    static func response(_ messages: [ReferenceMessage]) -> CTAPResponse? {
        messages.last { $0.command == 0x10 }.flatMap { try? CTAPResponse(parsing: $0.payload) }
    }
}

/// Responses of a phone.
enum Phone {
    static let privateKey = P256.Signing.PrivateKey()

    static func data(_ relyingParty: String, id: [UInt8]? = nil) throws -> AuthenticatorData {
        let relyingParty = try #require(RelyingPartyID(relyingParty, accepting: Set(RelyingPartyID.Kind.allCases)))
        let credential = try id.map {
            AttestedCredential(
                aaguid: .zero,
                id: try #require(CredentialID(bytes: $0)),
                publicKey: COSEKey(privateKey.publicKey)
            )
        }
        return AuthenticatorData(
            relyingPartyIDHash: relyingParty.hash,
            flags: [.userPresent, .userVerified],
            signatureCount: 0,
            attestedCredential: credential
        )
    }

    static func created(_ relyingParty: String = "example.com", _ id: [UInt8] = [1]) throws -> MakeCredentialResponse {
        MakeCredentialResponse(authenticatorData: try data(relyingParty, id: id))
    }

    static func signed(_ relyingParty: String = "example.com", _ id: [UInt8]? = [1]) throws -> GetAssertionResponse {
        GetAssertionResponse(
            credential: try id.map { CredentialDescriptor(id: try #require(CredentialID(bytes: $0))) },
            authenticatorData: try data(relyingParty),
            signature: [0x30, 0x00]
        )
    }
}

extension CTAPResponse {
    /// The canonical CBOR map after the status.
    func map() throws -> CBORMap { try #require(try CBORDecoder.decode(body, mode: .strict).map) }
}
