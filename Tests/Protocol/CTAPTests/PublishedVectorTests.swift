// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import Testing

@Suite("Messages of real devices")
struct PublishedVectorTests {
    private let vectors: PublishedVectors

    init() throws { vectors = try PublishedVectors.load() }

    @Test("a published creation request is decoded and encoded byte for byte")
    func creationRequest() throws {
        let bytes = try vectors.creationRequest()
        let request = try CTAPRequest(parsing: bytes)
        #expect(request.encoded == bytes)
        guard case .makeCredential(let creation) = request else {
            Issue.record("unexpected command")
            return
        }
        #expect(creation.relyingParty.id.text == "webauthn.firstyear.id.au")
        #expect(creation.user.name == "a" && creation.user.id.bytes.count == 16)
        #expect(creation.algorithms == [.es256, .rs256])
        #expect(creation.excludeList.map(\.id.bytes) == [[0, 1, 2, 3]])
        #expect(creation.userVerification && !creation.residentKey)
    }

    @Test("a request to an iPhone is decoded and encoded byte for byte")
    func phoneRequest() throws {
        let bytes = try vectors.phoneRequest()
        let request = try CTAPRequest(parsing: bytes)
        #expect(request.encoded == bytes)
        guard case .getAssertion(let assertion) = request else {
            Issue.record("unexpected command")
            return
        }
        #expect(assertion.relyingPartyID.text == "example.com")
        #expect(assertion.allowList.isEmpty && assertion.userVerification)
    }

    @Test("an iPhone's assertion is read")
    func phoneResponse() throws {
        let response = try CTAPResponse(parsing: vectors.phoneResponse())
        #expect(response.status == .success)
        let assertion = try GetAssertionResponse(parsing: response.body)
        #expect(assertion.credential?.id.bytes.count == 54)
        #expect(assertion.authenticatorData.relyingPartyIDHash == RelyingPartyID("example.com")?.hash)
        #expect(assertion.authenticatorData.flags == [.userPresent, .userVerified, .backupEligible, .backedUp])
        #expect(assertion.authenticatorData.signatureCount == 0)
        #expect(assertion.signature.first == 0x30)
        #expect(assertion.user?.name == "" && assertion.user?.id.bytes.count == 32)
        #expect(assertion.userSelected && assertion.numberOfCredentials == nil)
        // The iPhone sends its empty names, too.
        var members = try #require(try CBORDecoder.decode(response.body, mode: .strict).map)
        #expect(members[4]?.map?["name"] == "" && members[4]?.map?["displayName"] == "")
        members[4] = members[4]?.map?["id"].map { ["id": $0] }
        #expect(assertion.encoded == CBOREncoder.encode(members))
    }

    @Test("no truncation of an iPhone's assertion is accepted")
    func truncatedResponse() throws {
        let bytes = try vectors.phoneResponse()
        for length in 1..<bytes.count {
            let response = try CTAPResponse(parsing: Array(bytes.prefix(length)))
            #expect(throws: CTAPResponseError.self) { try GetAssertionResponse(parsing: response.body) }
        }
    }

    @Test("the descriptions of three phones are read")
    func introductions() throws {
        #expect(vectors.postHandshake.count == 3)
        var infos: [String: AuthenticatorInfo] = [:]
        for phone in vectors.postHandshake {
            infos[phone.name] = try AuthenticatorInfo(parsing: bytes(fromHex: phone.decoded.info))
        }
        #expect(infos["android_chrome_2022"]?.aaguid == .zero)
        #expect(infos["android_chrome_2022"]?.transports == ["cable", "hybrid", "internal"])
        #expect(infos["ios16"]?.versions == ["FIDO_2_0"])
        #expect(infos["ios16"]?.extensions == [])
        #expect(infos["iphone_2026"]?.options == ["rk": true, "uv": true, "jsonMessages": true])
        #expect(infos["iphone_2026"]?.extensions == ["largeBlob", "prf"])
        for info in infos.values { #expect(info.options["uv"] == true && info.transports.contains("hybrid")) }
    }

    @Test("no truncation of a description is accepted")
    func truncatedIntroductions() throws {
        for phone in vectors.postHandshake {
            let bytes = try bytes(fromHex: phone.decoded.info)
            for length in bytes.indices {
                #expect(throws: CTAPResponseError.cbor(.truncated)) {
                    try AuthenticatorInfo(parsing: Array(bytes.prefix(length)))
                }
            }
        }
    }
}
