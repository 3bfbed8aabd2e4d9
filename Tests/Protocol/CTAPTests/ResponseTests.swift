// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import Testing

@Suite("Responses")
struct ResponseTests {
    @Test("status and body survive the round trip")
    func envelope() throws {
        let response = CTAPResponse.success([0xA0])
        #expect(response.encoded == [0x00, 0xA0])
        #expect(try CTAPResponse(parsing: response.encoded) == response)
        #expect(CTAPResponse.failure(.operationDenied).encoded == [0x27])
        #expect(try CTAPResponse(parsing: [0xEE]).status.rawValue == 0xEE)
    }

    @Test("an empty response is rejected")
    func empty() {
        #expect(throws: CTAPResponseError.empty) { try CTAPResponse(parsing: []) }
    }

    @Test("every status has a meaning, even an unknown one")
    func meanings() {
        var texts: Set<String> = []
        for byte in UInt8.min...UInt8.max { texts.insert(CTAPStatus(rawValue: byte).meaning) }
        #expect(texts.count > 25)
        #expect(!texts.contains(""))
        #expect(CTAPStatus.keepaliveCancel.description == "it was cancelled (CTAP 0x2D)")
        #expect(CTAPStatus(rawValue: 0x02).description.hasSuffix("(CTAP 0x02)"))
    }

    @Test("a new credential survives the round trip")
    func created() throws {
        let response = try Samples.created()
        #expect(try MakeCredentialResponse(parsing: response.encoded) == response)
        #expect(response.authenticatorData.attestedCredential?.publicKey.p256 != nil)
    }

    @Test("an assertion survives the round trip")
    func assertion() throws {
        var response = try Samples.assertion()
        #expect(try GetAssertionResponse(parsing: response.encoded) == response)
        response.credential = nil
        response.user = nil
        response.numberOfCredentials = nil
        response.userSelected = false
        response.unsignedExtensionOutputs = nil
        #expect(try GetAssertionResponse(parsing: response.encoded) == response)
    }

    @Test("every truncation of a new credential is rejected")
    func createdTruncated() throws {
        let bytes = try Samples.created().encoded
        for length in bytes.indices {
            #expect(throws: CTAPResponseError.cbor(.truncated)) {
                try MakeCredentialResponse(parsing: Array(bytes.prefix(length)))
            }
        }
        #expect(throws: CTAPResponseError.cbor(.trailingBytes)) { try MakeCredentialResponse(parsing: bytes + [0]) }
    }

    @Test("every truncation of an assertion is rejected")
    func assertionTruncated() throws {
        let bytes = try Samples.assertion().encoded
        for length in bytes.indices {
            #expect(throws: CTAPResponseError.cbor(.truncated)) {
                try GetAssertionResponse(parsing: Array(bytes.prefix(length)))
            }
        }
    }

    @Test("a result other than a map is rejected")
    func notAMap() {
        #expect(throws: CTAPResponseError.notAMap) { try MakeCredentialResponse(parsing: [0x80]) }
        #expect(throws: CTAPResponseError.notAMap) { try GetAssertionResponse(parsing: [0x00]) }
        #expect(throws: CTAPResponseError.notAMap) { try AuthenticatorInfo(parsing: [0x40]) }
    }

    @Test("missing members of a new credential and those of the wrong type are reported by name")
    func createdMembers() throws {
        for (key, name) in [(1, "fmt"), (2, "authData")] {
            var map = try Samples.map(of: Samples.created().encoded)
            map[.integer(key)] = nil
            #expect(throws: CTAPResponseError.missing(name)) {
                try MakeCredentialResponse(parsing: CBOREncoder.encode(map))
            }
        }
        for (key, name) in [(1, "fmt"), (2, "authData"), (3, "attStmt"), (6, "unsignedExtensionOutputs")] {
            var map = try Samples.map(of: Samples.created().encoded)
            map[.integer(key)] = 1
            #expect(throws: CTAPResponseError.wrongType(name)) {
                try MakeCredentialResponse(parsing: CBOREncoder.encode(map))
            }
        }
    }

    @Test("missing members of an assertion and those of the wrong type are reported by name")
    func assertionMembers() throws {
        for (key, name) in [(2, "authData"), (3, "signature")] {
            var map = try Samples.map(of: Samples.assertion().encoded)
            map[.integer(key)] = nil
            #expect(throws: CTAPResponseError.missing(name)) {
                try GetAssertionResponse(parsing: CBOREncoder.encode(map))
            }
        }
        let members = [
            (1, "credential"), (2, "authData"), (3, "signature"), (4, "user"), (5, "numberOfCredentials"),
            (6, "userSelected"), (8, "unsignedExtensionOutputs"),
        ]
        for (key, name) in members {
            var map = try Samples.map(of: Samples.assertion().encoded)
            map[.integer(key)] = "x"
            #expect(throws: CTAPResponseError.wrongType(name)) {
                try GetAssertionResponse(parsing: CBOREncoder.encode(map))
            }
        }
    }

    @Test("an empty user handle counts as no user; an overlong one is rejected")
    func userHandle() throws {
        var map = try Samples.map(of: Samples.assertion().encoded)
        map[4] = ["id": .bytes([])]
        #expect(try GetAssertionResponse(parsing: CBOREncoder.encode(map)).user == nil)
        map[4] = ["id": .bytes([UInt8](repeating: 1, count: 65))]
        #expect(throws: CTAPResponseError.invalid("user.id")) {
            try GetAssertionResponse(parsing: CBOREncoder.encode(map))
        }
    }

    @Test("getInfo survives the round trip and is canonical")
    func info() throws {
        let info = AuthenticatorInfo(
            versions: ["FIDO_2_0", "FIDO_2_1"],
            extensions: ["prf"],
            aaguid: .zero,
            options: ["uv": true, "rk": true, "plat": false],
            maximumMessageSize: 1200,
            maximumCredentialCount: 8,
            maximumCredentialIDLength: 96,
            transports: ["internal", "hybrid"],
            algorithms: [.es256]
        )
        #expect(try AuthenticatorInfo(parsing: info.encoded) == info)
        #expect(CBOREncoder.encode(try CBORDecoder.decode(info.encoded, mode: .strict)) == info.encoded)
    }

    @Test("missing members of getInfo and those of the wrong type are reported by name")
    func infoMembers() throws {
        let good: CBORMap = [1: ["FIDO_2_0"], 3: .bytes([UInt8](repeating: 0, count: 16))]
        #expect(try AuthenticatorInfo(parsing: CBOREncoder.encode(good)).versions == ["FIDO_2_0"])
        for (key, name) in [(1, "versions"), (3, "aaguid")] {
            var map = good
            map[.integer(key)] = nil
            #expect(throws: CTAPResponseError.missing(name)) { try AuthenticatorInfo(parsing: CBOREncoder.encode(map)) }
        }
        let wrong: [(Int, CBORValue, String)] = [
            (1, 1, "versions"), (1, [1], "versions"), (2, "prf", "extensions"), (3, "x", "aaguid"),
            (4, [], "options"), (4, ["rk": 1], "options.rk"), (5, "x", "maxMsgSize"), (9, [.null], "transports"),
            (10, [1], "algorithms"),
        ]
        for (key, value, name) in wrong {
            var map = good
            map[.integer(key)] = value
            #expect(throws: CTAPResponseError.wrongType(name)) {
                try AuthenticatorInfo(parsing: CBOREncoder.encode(map))
            }
        }
        var map = good
        map[7] = "x"
        map[8] = .bytes([1])
        let lenient = try AuthenticatorInfo(parsing: CBOREncoder.encode(map))
        #expect(lenient.maximumCredentialCount == nil && lenient.maximumCredentialIDLength == nil)
        map[3] = .bytes([1])
        #expect(throws: CTAPResponseError.invalid("aaguid")) { try AuthenticatorInfo(parsing: CBOREncoder.encode(map)) }
    }
}
