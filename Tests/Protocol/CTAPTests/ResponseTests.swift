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
        for (key, name) in [(1, "fmt"), (2, "authData"), (3, "attStmt")] {
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
        let members = [(1, "credential"), (2, "authData"), (3, "signature")]
        for (key, name) in members {
            var map = try Samples.map(of: Samples.assertion().encoded)
            map[.integer(key)] = "x"
            #expect(throws: CTAPResponseError.wrongType(name)) {
                try GetAssertionResponse(parsing: CBOREncoder.encode(map))
            }
        }
    }

    @Test("a malformed member that no signature covers costs neither a new credential nor an assertion")
    func ignorableMembers() throws {
        for key in [4, 5, 6, 8] {
            var map = try Samples.map(of: Samples.assertion().encoded)
            map[.integer(key)] = "x"
            let response = try GetAssertionResponse(parsing: CBOREncoder.encode(map))
            map[.integer(key)] = nil
            #expect(try GetAssertionResponse(parsing: CBOREncoder.encode(map)) == response)
        }
        var map = try Samples.map(of: Samples.created().encoded)
        map[6] = "x"
        let created = try MakeCredentialResponse(parsing: CBOREncoder.encode(map))
        #expect(created.unsignedExtensionOutputs == nil)
        map = try Samples.map(of: Samples.assertion().encoded)
        map[1] = ["id": .bytes([1]), "type": "public-key", "transports": [1, "hybrid"]]
        let assertion = try GetAssertionResponse(parsing: CBOREncoder.encode(map))
        #expect(assertion.credential?.transports == ["hybrid"])
    }

    @Test("a name that is cut inside a character or has the wrong type does not cost the account")
    func cutNames() throws {
        var map = try Samples.map(of: Samples.assertion().encoded)
        map[4] = ["id": .bytes([1]), "name": "Zoé", "displayName": 1]
        var bytes = CBOREncoder.encode(map)
        let cut = try #require(bytes.lastIndex(of: 0xA9))
        bytes[cut] = UInt8(ascii: "!")
        let user = try #require(try GetAssertionResponse(parsing: bytes).user)
        #expect(user.name == "Zo\u{FFFD}!")
        #expect(user.displayName.isEmpty)
    }

    @Test("an empty user handle counts as no user, and so does an overlong one")
    func userHandle() throws {
        var map = try Samples.map(of: Samples.assertion().encoded)
        map[4] = ["id": .bytes([])]
        #expect(try GetAssertionResponse(parsing: CBOREncoder.encode(map)).user == nil)
        map[4] = ["id": .bytes([UInt8](repeating: 1, count: 65))]
        #expect(try GetAssertionResponse(parsing: CBOREncoder.encode(map)).user == nil)
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
            (1, 1, "versions"), (1, [1], "versions"), (3, "x", "aaguid"),
        ]
        for (key, value, name) in wrong {
            var map = good
            map[.integer(key)] = value
            #expect(throws: CTAPResponseError.wrongType(name)) {
                try AuthenticatorInfo(parsing: CBOREncoder.encode(map))
            }
        }
        var map = good
        map[3] = .bytes([1])
        #expect(throws: CTAPResponseError.invalid("aaguid")) { try AuthenticatorInfo(parsing: CBOREncoder.encode(map)) }
    }

    @Test("an unknown member of getInfo or an optional one of the wrong type is ignored, and the rest is kept")
    func infoIgnores() throws {
        let good: CBORMap = [1: ["FIDO_2_0"], 3: .bytes([UInt8](repeating: 0, count: 16))]
        let plain = try AuthenticatorInfo(parsing: CBOREncoder.encode(good))
        let values: [CBORValue] = [.null, "x", .bytes([1]), [.null], [1], [[:]], true, .float(.half(0))]
        for key in Array(2...40) + [-1] where ![3, 5, 7, 8].contains(key) {
            for value in values {
                var map = good
                map[.integer(key)] = value
                var info = try AuthenticatorInfo(parsing: CBOREncoder.encode(map))
                if value == "x" { info.extensions = [] }
                #expect(info == plain, "\(key): \(value)")
            }
        }
        var map = good
        for key in [5, 7, 8] { map[.integer(key)] = "x" }
        #expect(try AuthenticatorInfo(parsing: CBOREncoder.encode(map)) == plain)
        map[2] = ["prf", 1]
        map[4] = ["rk": 1, "uv": true, 1: true]
        map[9] = ["hybrid", .null]
        map[10] = [1, ["type": "public-key"], ["type": "new"], ["alg": -7, "type": "public-key"]]
        let mixed = try AuthenticatorInfo(parsing: CBOREncoder.encode(map))
        #expect(mixed.extensions == ["prf"] && mixed.options == ["uv": true])
        #expect(mixed.transports == ["hybrid"] && mixed.algorithms == [.es256])
    }
}
