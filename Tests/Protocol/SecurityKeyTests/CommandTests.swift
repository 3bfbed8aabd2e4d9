// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import HybridSecurityKey
import TestSupport
import Testing

@Suite("Commands that need no phone")
struct CommandTests {
    @Test("getInfo has the members that clients need")
    func info() throws {
        var fixture = try KeyFixture()
        let response = try #require(try fixture.send([0x04]))
        #expect(response.status == .success)
        let map = try response.map()
        #expect(map[1] == ["FIDO_2_0", "FIDO_2_1"])
        #expect(map[2] == nil, "there are no extensions")
        #expect(map[3] == .bytes([UInt8](repeating: 0, count: 16)))
        #expect(map[4] == ["rk": true, "up": true, "uv": true, "plat": false], "and no clientPin")
        #expect(map[5] == 7609 && map[7] == 64 && map[8] == 1023)
        #expect(map[9] == ["usb"])
        #expect(map[10] == [["alg": -7, "type": "public-key"]])
        #expect(map.count == 8)
    }

    @Test("commands for PINs, reset and the memory of security keys are never forwarded")
    func unsupportedCommands() throws {
        for command in UInt8.min...UInt8.max where ![0x01, 0x02, 0x04, 0x08, 0x0B].contains(command) {
            var fixture = try KeyFixture()
            #expect(try fixture.send([command, 0xA0]) == .failure(.invalidCommand))
            #expect(fixture.key.actions == [])
        }
    }

    /// clientPIN (subcommand getKeyAgreement), as Chromium and libfido2 send it.
    @Test("clientPIN is answered with 0x01")
    func clientPIN() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send([0x06, 0xA2, 0x01, 0x01, 0x02, 0x02]) == .failure(.invalidCommand))
        #expect(fixture.key.actions == [])
    }

    @Test("commands that cannot be read are answered with their status, without a window")
    func malformed() throws {
        let cases: [([UInt8], CTAPStatus)] = [
            ([0x01], .invalidCBOR), ([0x02, 0xA1], .invalidCBOR), ([0x01, 0x80], .cborUnexpectedType),
            ([0x02, 0xA0], .missingParameter), ([0x04, 0xA0], .invalidLength), ([0x0B, 0xA0], .invalidLength),
            ([0x08, 0xA0], .invalidLength), (SampleKey.creation("example.com", [1: .bytes([1])]), .invalidLength),
            (SampleKey.creation("EXAMPLE.com"), .invalidParameter),
            (SampleKey.creation("https://example.com"), .invalidParameter),
            (SampleKey.creation("example.com", [4: [["alg": -8, "type": "public-key"]]]), .unsupportedAlgorithm),
            (SampleKey.assertion("example.com", [], [5: ["up": 1]]), .cborUnexpectedType),
            (SampleKey.assertion("example.com", [], [5: ["rk": true]]), .unsupportedOption),
        ]
        for (command, status) in cases {
            var fixture = try KeyFixture()
            #expect(try fixture.send(command) == .failure(status), "\(command)")
            #expect(fixture.key.actions == [])
        }
    }

    @Test("Selection asks the user, and a closed window cancels it")
    func selection() throws {
        var fixture = try KeyFixture()
        let messages = try fixture.key.receive(fixture.first, 0x10, [0x0B])
        #expect(messages == [ReferenceMessage(channel: fixture.first, command: 0x3B, payload: [2])])
        #expect(fixture.key.actions == [.askPresence(WindowID(rawValue: 1))])
        #expect(KeyFixture.response(try fixture.key.endWindow(by: .confirmation)) == .success([]))
        #expect(fixture.key.window == nil)
        #expect(try fixture.send([0x0B]) == nil)
        #expect(KeyFixture.response(try fixture.key.endWindow(by: .closing)) == .failure(.keepaliveCancel))
        #expect(try fixture.send([0x0B]) == nil)
        #expect(KeyFixture.response(try fixture.key.receive(fixture.first, 0x11, [])) == .failure(.keepaliveCancel))
        #expect(fixture.key.window == nil)
    }

    /// Requests with which clients let the user select a key.
    static let touchRequests: [[UInt8]] = [
        SampleKey.creation(".dummy"), SampleKey.creation("make.me.blink", [8: .bytes([]), 9: 1]),
        SampleKey.creation("make.me.blink"), SampleKey.creation("localhost", [1: .bytes(SampleKey.hashOfNothing)]),
        SampleKey.creation("example.com", [8: .bytes([])]), SampleKey.assertion("example.com", [[1]], [6: .bytes([])]),
    ]

    @Test("requests for a touch ask for presence and end with 0x35", arguments: touchRequests)
    func touch(command: [UInt8]) throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(command) == nil)
        #expect(fixture.key.actions == [.askPresence(WindowID(rawValue: 1))])
        #expect(KeyFixture.response(try fixture.key.endWindow(by: .confirmation)) == .failure(.pinNotSet))
    }

    @Test("a website on localhost can register")
    func localhost() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.creation("localhost")) == nil)
        #expect(fixture.key.window?.phone?.isRegistration == true)
    }

    @Test(
        "AppIDs and other names that are no relying party have no credentials",
        arguments: [
            "https://example.com/app.json", "https://www.gstatic.com/securitykey/origins.json", "http://example.com",
            "android:apk-key-hash", "ssh:a b", "pam:host", "pam://", "EXAMPLE.com", "192.0.2.1", "",
        ]
    )
    func appIDs(name: String) throws {
        for command in [
            SampleKey.assertion(name, [[1]]), SampleKey.probe(name, [[1]]),
            SampleKey.assertion(name, [[1]], [5: ["up": false]]),
        ] {
            var fixture = try KeyFixture()
            #expect(try fixture.send(command) == .failure(.noCredentials))
            #expect(fixture.key.actions == [])
        }
    }

    @Test("SSH keys of the agent cannot be used through the key")
    func agentKeys() throws {
        for name in ["ssh.example.org", "ssh:"] {
            var fixture = try KeyFixture()
            let id = try #require(RelyingPartyID(name, accepting: Set(RelyingPartyID.Kind.allCases)))
            fixture.key.key.agentRelyingParties = [id]
            #expect(try fixture.send(SampleKey.assertion(name, [[1]])) == .failure(.noCredentials))
            #expect(try fixture.send(SampleKey.probe(name, [[1]])) == .failure(.noCredentials))
            #expect(try fixture.send(SampleKey.assertion(name)) == .failure(.noCredentials))
            #expect(fixture.key.actions == [])
        }
    }

    @Test("every truncation and bit flip of a request is answered, or opens a window")
    func damage() throws {
        for request in [
            SampleKey.creation("ssh:"), SampleKey.probe("example.com", [[1], [2]]), SampleKey.assertion("a.b", [[1]]),
        ] {
            for damaged in Damage.truncations(of: request).dropFirst() + Damage.bitFlips(of: request) {
                var fixture = try KeyFixture()
                // The fixture throws if a rule is broken.
                let response = try fixture.send(damaged)
                #expect(response != nil || fixture.key.window != nil)
            }
        }
    }
}
