// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import HybridSecurityKey
import TestSupport
import Testing

@Suite("Requests for the phone")
struct PhoneRequestTests {
    private static func map(_ request: CTAPRequest) throws -> CBORMap {
        try #require(try CBORDecoder.decode(request.encoded.dropFirst(), mode: .strict).map)
    }

    @Test("absent names are added, and only those")
    func names() throws {
        var fixture = try KeyFixture()
        let added = try Self.map(try fixture.phoneRequest(SampleKey.creation()))
        #expect(added[2] == ["id": "example.com", "name": "example.com"])
        #expect(added[3] == ["id": .bytes([1, 2]), "name": "ada", "displayName": "ada"])
        var other = try KeyFixture()
        let relyingParty: CBORValue = ["id": "example.com", "name": "Example"]
        let user: CBORValue = ["id": .bytes([1]), "name": "ada", "displayName": ""]
        let kept = try Self.map(
            try other.phoneRequest(SampleKey.creation("example.com", [2: relyingParty, 3: user]))
        )
        #expect(kept[2] == relyingParty && kept[3] == user)
    }

    @Test("members that phones do not accept are removed, and the others are kept")
    func creation() throws {
        var fixture = try KeyFixture()
        let extensions: CBORValue = [
            "hmac-secret": true, "minPinLength": true, "credBlob": .bytes([1]), "credProtect": 2, "unknown": 1,
            "prf": .map([:]), "largeBlob": ["support": "preferred"],
        ]
        let algorithms: CBORValue = [["alg": -8, "type": "public-key"], ["alg": -7, "type": "public-key"]]
        let command = SampleKey.creation(
            "example.com",
            [
                4: algorithms, 5: SampleKey.descriptors([[1], [2]]), 6: extensions,
                7: ["rk": true, "up": true, "uv": false], 8: .bytes([1, 2]), 9: 1, 10: 1,
            ]
        )
        let map = try Self.map(try fixture.phoneRequest(command))
        #expect(map[1] == .bytes(SampleKey.realHash))
        #expect(map[4] == algorithms)
        #expect(map[5] == [["id": .bytes([1]), "type": "public-key"], ["id": .bytes([2]), "type": "public-key"]])
        #expect(map[6] == ["largeBlob": ["support": "preferred"]])
        #expect(map[7] == ["rk": true, "uv": true])
        #expect(map.count == 7)
        var other = try KeyFixture()
        let listed = try Self.map(try other.phoneRequest(command, extensions: ["credProtect"]))
        #expect(listed[6]?.map?["credProtect"] == 2)
    }

    @Test("a sign-in keeps its list and its hash")
    func assertion() throws {
        var fixture = try KeyFixture()
        let changes: CBORMap = [
            4: ["hmac-secret": .map([:]), "prf": ["eval": ["first": .bytes(SampleKey.realHash)]]],
            5: ["up": true, "uv": false], 6: .bytes([1]), 7: 2,
        ]
        let map = try Self.map(try fixture.phoneRequest(SampleKey.assertion("example.com", [[3], [4]], changes)))
        #expect(map[1] == "example.com" && map[2] == .bytes(SampleKey.realHash))
        #expect(map[3] == [["id": .bytes([3]), "type": "public-key"], ["id": .bytes([4]), "type": "public-key"]])
        #expect(map[4] == nil)
        #expect(map[5] == ["uv": true])
        #expect(map.count == 4)
    }

    @Test("a request that is not canonical becomes canonical")
    func canonical() throws {
        // Keys in another order, and an integer in long form.
        var bytes: [UInt8] = [0x02, 0xA2, 0x02, 0x58, 0x20] + SampleKey.realHash
        bytes += [0x18, 0x01, 0x6B] + Array("example.com".utf8)
        var fixture = try KeyFixture()
        let request = try fixture.phoneRequest(bytes)
        #expect(request.encoded == SampleKey.assertion("example.com", [], [5: ["uv": true]]))
    }

    @Test("OpenSSH's shared user handle becomes a random one")
    func sharedHandle() throws {
        let zeros = [UInt8](repeating: 0, count: 32)
        let user: CBORValue = ["id": .bytes(zeros), "name": "openssh", "displayName": "openssh"]
        let random = [UInt8](repeating: 0xAB, count: 32)
        var fixture = try KeyFixture()
        let replaced = try Self.map(try fixture.phoneRequest(SampleKey.creation("ssh:", [3: user])))
        #expect(replaced[3] == ["id": .bytes(random), "name": "ssh:abababab", "displayName": "ssh:abababab"])
        #expect(replaced[2] == ["id": "ssh:", "name": "ssh:"])
        for (name, user) in [
            ("example.com", user), ("pam://host", user),
            ("ssh:", ["id": .bytes([0]), "name": "openssh", "displayName": "openssh"]),
        ] as [(String, CBORValue)] {
            var other = try KeyFixture()
            #expect(try Self.map(try other.phoneRequest(SampleKey.creation(name, [3: user])))[3] == user)
        }
    }

    @Test("random handles differ by default")
    func defaultRandom() throws {
        let user: CBORValue = ["id": .bytes([UInt8](repeating: 0, count: 32)), "name": "openssh"]
        var handles: Set<CBORValue> = []
        for _ in 0..<10 {
            var key = ObservedKey(
                SecurityKey(
                    version: CTAPHIDDeviceVersion(major: 1, minor: 0, build: 0),
                    memory: CredentialMemory(),
                    installationKey: try SampleKey.installationKey()
                )
            )
            _ = try key.receive(try key.open(), 0x10, SampleKey.creation("ssh:", [3: user]))
            let info = AuthenticatorInfo(versions: [], aaguid: .zero, options: [:], transports: [])
            let map = try Self.map(try #require(key.window?.phone).request(for: info))
            handles.insert(try #require(map[3]?.map?["id"]))
        }
        #expect(handles.count == 10)
    }
}

@Suite("Responses of the phone")
struct PhoneResponseTests {
    private static func answer(_ command: [UInt8], _ body: [UInt8]) throws -> CTAPResponse? {
        var fixture = try KeyFixture()
        #expect(try fixture.send(command) == nil)
        let answer = try fixture.answer(.success(body))
        #expect(fixture.key.window == nil)
        return answer
    }

    @Test("a new credential reaches the client, with the signed bytes unchanged")
    func created() throws {
        var response = try Phone.created()
        response.unsignedExtensionOutputs = ["prf": ["enabled": true], "largeBlob": ["supported": true]]
        let map = try #require(try Self.answer(SampleKey.creation(), response.encoded)).map()
        #expect(map[1] == "none" && map[2] == .bytes(response.authenticatorData.encoded) && map[3] == .map([:]))
        #expect(map.count == 3)
        response.unsignedExtensionOutputs = ["largeBlob": ["supported": true]]
        #expect(try #require(try Self.answer(SampleKey.creation(), response.encoded)).map()[6] == nil)
    }

    @Test("members that Chromium rejects are removed from a signature for an allow list")
    func signed() throws {
        var response = try Phone.signed("example.com", [2])
        response.userSelected = true
        response.numberOfCredentials = 3
        response.unsignedExtensionOutputs = ["prf": .map([:]), "other": 1]
        let listed = try #require(
            try Self.answer(SampleKey.assertion("example.com", [[1], [2]]), response.encoded)
        ).map()
        #expect(listed[1] == ["id": .bytes([2]), "type": "public-key"])
        #expect(listed[2] == .bytes(response.authenticatorData.encoded) && listed[3] == .bytes([0x30, 0x00]))
        #expect(listed[5] == nil && listed[6] == nil && listed[8] == nil)
        let empty = try #require(try Self.answer(SampleKey.assertion(), response.encoded)).map()
        #expect(empty[5] == nil && empty[6] == true)
    }

    @Test("the account of a discoverable credential is kept")
    func user() throws {
        var response = try Phone.signed()
        let handle = try #require(UserHandle(bytes: [7]))
        response.user = UserEntity(id: handle, name: "ada", displayName: "Ada")
        let map = try #require(try Self.answer(SampleKey.assertion(), response.encoded)).map()
        #expect(map[4] == ["id": .bytes([7]), "name": "ada", "displayName": "Ada"])
    }

    @Test("an absent credential is the only one of the list")
    func absentCredential() throws {
        let body = try Phone.signed("example.com", nil).encoded
        let map = try #require(try Self.answer(SampleKey.assertion("example.com", [[5]]), body)).map()
        #expect(map[1] == ["id": .bytes([5]), "type": "public-key"])
        for ids in [[], [[5], [6]]] as [[[UInt8]]] {
            #expect(try Self.answer(SampleKey.assertion("example.com", ids), body) == .failure(.other))
        }
    }

    @Test("a response that does not fit the request is a failure")
    func misfits() throws {
        let sign = SampleKey.assertion("example.com", [[1]])
        #expect(try Self.answer(sign, try Phone.signed("example.com", [2]).encoded) == .failure(.other))
        #expect(try Self.answer(sign, try Phone.signed("example.org", [1]).encoded) == .failure(.other))
        #expect(try Self.answer(SampleKey.creation(), try Phone.created("example.org").encoded) == .failure(.other))
        let notNew = MakeCredentialResponse(authenticatorData: try Phone.data("example.com"))
        #expect(try Self.answer(SampleKey.creation(), notNew.encoded) == .failure(.other))
        for body in [[], [0xA0], [0x80], [0xFF]] as [[UInt8]] {
            #expect(try Self.answer(sign, body) == .failure(.other))
        }
    }

    @Test("every truncation and bit flip of a response is answered")
    func damage() throws {
        let body = try Phone.signed().encoded
        for damaged in Damage.truncations(of: body) + Damage.bitFlips(of: body) {
            let answer = try Self.answer(SampleKey.assertion("example.com", [[1]]), damaged)
            #expect(answer?.status == .success || answer?.status == .other)
        }
    }

    @Test("statuses become those after which clients give up")
    func statuses() throws {
        for byte in UInt8.min...UInt8.max where byte != 0 {
            for command in [SampleKey.assertion(), SampleKey.creation()] {
                var fixture = try KeyFixture()
                #expect(try fixture.send(command) == nil)
                let status = CTAPStatus(rawValue: byte)
                let answer = try fixture.answer(.failure(status))
                if status == .credentialExcluded, command[0] == 0x01 {
                    #expect(answer == nil, "the user sees it first")
                } else {
                    #expect(answer == .failure(status == .noCredentials ? .noCredentials : .userActionTimeout))
                }
            }
        }
    }

    @Test("declined on the phone is 0x2F, never 0x27")
    func declined() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.assertion()) == nil)
        #expect(try fixture.answer(.failure(.operationDenied)) == .failure(.userActionTimeout))
    }
}
