// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import Testing

@Suite("Fields of requests")
struct RequestFieldTests {
    @Test(
        "every required parameter of a creation is missed by name",
        arguments: [
            (1, "clientDataHash"), (2, "rp"), (3, "user"), (4, "pubKeyCredParams"),
        ]
    )
    func missingInCreation(key: Int, name: String) throws {
        var map = try Samples.creationMap()
        map[.integer(key)] = nil
        #expect(creationRefusal(map) == CTAPRequestError(status: .missingParameter, field: name))
    }

    @Test(
        "every parameter of a creation with the wrong type is named",
        arguments: [
            (1, "clientDataHash"), (2, "rp"), (3, "user"), (4, "pubKeyCredParams"), (5, "excludeList"),
            (6, "extensions"), (7, "options"), (11, "attestationFormatsPreference"),
        ]
    )
    func wrongTypeInCreation(key: Int, name: String) throws {
        for value in [CBORValue.integer(7), .null, .text("x")] {
            var map = try Samples.creationMap()
            map[.integer(key)] = value
            #expect(creationRefusal(map) == CTAPRequestError(status: .cborUnexpectedType, field: name))
        }
    }

    @Test(
        "a missing required parameter of a sign-in is reported by name",
        arguments: [(1, "rpId"), (2, "clientDataHash")]
    )
    func missingInAssertion(key: Int, name: String) throws {
        var map = try Samples.requestMap()
        map[.integer(key)] = nil
        #expect(assertionRefusal(map) == CTAPRequestError(status: .missingParameter, field: name))
    }

    @Test(
        "every parameter of a sign-in with the wrong type is named",
        arguments: [
            (1, "rpId"), (2, "clientDataHash"), (3, "allowList"), (4, "extensions"), (5, "options"),
        ]
    )
    func wrongTypeInAssertion(key: Int, name: String) throws {
        for value in [CBORValue.integer(7), .null, .boolean(true)] {
            var map = try Samples.requestMap()
            map[.integer(key)] = value
            #expect(assertionRefusal(map) == CTAPRequestError(status: .cborUnexpectedType, field: name))
        }
    }

    @Test(
        "a relying party ID must be one plain host name",
        arguments: [
            "", "Example.com", "https://example.com", "example.com.", "192.0.2.1", "exämple.com", "a..b",
            "example.com:443",
        ]
    )
    func relyingPartyID(text: String) throws {
        var map = try Samples.requestMap()
        map[1] = .text(text)
        #expect(assertionRefusal(map) == CTAPRequestError(status: .invalidParameter, field: "rpId"))
        map = try Samples.creationMap()
        map[2] = ["id": .text(text), "name": ""]
        #expect(creationRefusal(map) == CTAPRequestError(status: .invalidParameter, field: "rp.id"))
    }

    @Test("invalid members of the user are reported by name")
    func user() throws {
        let cases: [(CBORValue, CTAPStatus, String)] = [
            (["name": "a"], .missingParameter, "user.id"),
            (["id": "text"], .cborUnexpectedType, "user.id"),
            (["id": .bytes([])], .invalidLength, "user.id"),
            (["id": .bytes([UInt8](repeating: 0, count: 65))], .invalidLength, "user.id"),
            (["id": .bytes([1]), "name": 1], .cborUnexpectedType, "user.name"),
            (["id": .bytes([1]), "displayName": .null], .cborUnexpectedType, "user.displayName"),
        ]
        for (user, status, field) in cases {
            var map = try Samples.creationMap()
            map[3] = user
            #expect(creationRefusal(map) == CTAPRequestError(status: status, field: field))
        }
    }

    @Test("the client data hash has 32 bytes", arguments: [0, 31, 33, 4096])
    func hashLength(length: Int) throws {
        var map = try Samples.requestMap()
        map[2] = .bytes([UInt8](repeating: 0, count: length))
        #expect(assertionRefusal(map) == CTAPRequestError(status: .invalidLength, field: "clientDataHash"))
    }

    @Test("invalid entries of credential lists are reported by name")
    func credentialLists() throws {
        let good: CBORValue = ["id": .bytes([1]), "type": "public-key"]
        let cases: [(CBORValue, CTAPStatus, String)] = [
            (1, .cborUnexpectedType, "allowList"),
            (["type": "public-key"], .missingParameter, "allowList[1].id"),
            (["id": .bytes([1])], .missingParameter, "allowList[1].type"),
            (["id": .bytes([1]), "type": 5], .cborUnexpectedType, "allowList[1].type"),
        ]
        for (entry, status, field) in cases {
            var map = try Samples.requestMap()
            map[3] = .array([good, entry])
            #expect(assertionRefusal(map) == CTAPRequestError(status: status, field: field))
        }
    }

    @Test(
        "an entry whose ID no credential has matches nothing, and the list does not become empty",
        arguments: [0, 1024]
    )
    func impossibleID(length: Int) throws {
        let impossible: CBORValue = ["id": .bytes([UInt8](repeating: 1, count: length)), "type": "public-key"]
        for list in [[impossible], [impossible, ["id": .bytes([1]), "type": "public-key", "transports": [1]]]] {
            var map = try Samples.requestMap()
            map[3] = .array(list)
            guard case .getAssertion(let request) = try CTAPRequest(parsing: [2] + CBOREncoder.encode(map)) else {
                Issue.record("unexpected command")
                return
            }
            #expect(request.allowList.count == list.count)
            #expect(request.allowList.filter(\.isPublicKey).map(\.id.bytes) == (list.count == 1 ? [] : [[1]]))
            map = try Samples.creationMap()
            map[5] = .array(list)
            #expect(creationRefusal(map) == nil)
        }
    }

    @Test("an option of an unknown name is ignored, whatever its type; so are members of unknown types of keys")
    func unknownOptions() throws {
        var map = try Samples.creationMap()
        map[7] = ["future": 1, 1: true]
        map[4] = [["type": "future", "curve": 1], ["alg": -7, "type": "public-key"]]
        #expect(creationRefusal(map) == nil)
    }

    @Test("an allow list of unknown types is not an empty list")
    func unknownDescriptorType() throws {
        var map = try Samples.requestMap()
        map[3] = [["id": .bytes([1]), "type": "future"]]
        guard case .getAssertion(let request) = try CTAPRequest(parsing: [2] + CBOREncoder.encode(map)) else {
            Issue.record("unexpected command")
            return
        }
        #expect(request.allowList.count == 1)
        #expect(request.allowList.first?.isPublicKey == false)
    }

    @Test("algorithms keep their order, without unknown types")
    func algorithms() throws {
        var map = try Samples.creationMap()
        map[4] = [
            ["alg": -257, "type": "public-key"], ["alg": -7, "type": "future"], ["alg": -7, "type": "public-key"],
        ]
        guard case .makeCredential(let request) = try CTAPRequest(parsing: [1] + CBOREncoder.encode(map)) else {
            Issue.record("unexpected command")
            return
        }
        #expect(request.algorithms == [.rs256, .es256])
        map[4] = [["type": "public-key"]]
        #expect(creationRefusal(map)?.field == "pubKeyCredParams[0].alg")
        map[4] = [["alg": .unsigned(.max), "type": "public-key"]]
        #expect(creationRefusal(map)?.status == .cborUnexpectedType)
    }

    @Test("options that CTAP forbids get CTAP's status")
    func options() throws {
        var map = try Samples.creationMap()
        map[7] = ["up": false]
        #expect(creationRefusal(map)?.status == .invalidOption)
        map[7] = ["up": true, "future": false]
        #expect(creationRefusal(map) == nil)
        map[7] = ["rk": 1]
        #expect(creationRefusal(map) == CTAPRequestError(status: .cborUnexpectedType, field: "options.rk"))
        map = try Samples.requestMap()
        map[5] = ["rk": false]
        #expect(assertionRefusal(map)?.status == .unsupportedOption)
    }

    @Test("PIN tokens and enterprise attestation are rejected as CTAP requires")
    func tokens() throws {
        var map = try Samples.creationMap()
        map[8] = .bytes([1])
        #expect(creationRefusal(map)?.status == .missingParameter)
        map[9] = 1
        #expect(creationRefusal(map)?.status == .invalidParameter)
        map = try Samples.creationMap()
        map[10] = 1
        #expect(creationRefusal(map)?.status == .invalidParameter)
        map = try Samples.requestMap()
        map[6] = .bytes([])
        #expect(assertionRefusal(map)?.status == .missingParameter)
        map[7] = 2
        #expect(assertionRefusal(map)?.status == .invalidParameter)
    }
}
