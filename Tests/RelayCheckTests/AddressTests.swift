// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridRelayCheck

@Suite("Addresses on the command line")
struct AddressTests {
    @Test(
        "of relays",
        arguments: [
            ("wss://Cable.Example.COM", "wss://cable.example.com", 443, "cable.example.com"),
            ("wss://cable.example.com/", "wss://cable.example.com", 443, "cable.example.com"),
            ("wss://h:8443", "wss://h:8443", 8443, "h:8443"),
            ("wss://[2001:db8::1]:444", "wss://[2001:db8::1]:444", 444, "[2001:db8::1]:444"),
            ("ws://localhost", "ws://localhost", 80, "localhost"),
            ("ws://[::1]:9", "ws://[::1]:9", 9, "[::1]:9"),
        ]
    )
    func relays(text: String, written: String, port: Int, authority: String) throws {
        let relay = try RelayAddress(text)
        #expect(relay.description == written)
        #expect(relay.port == port)
        #expect(relay.authority == authority)
    }

    @Test(
        "that are none",
        arguments: [
            "", "https://h", "wss://", "wss://:443", "wss://h:", "wss://h:0", "wss://h:65536", "wss://h:+1",
            "wss://h/x", "wss://h?x", "wss://a b", "wss://[::1", "wss://u@h", "wss://h:1:2", "wss://h\r\nX: y",
            "wss://[h]", "wss://[127.0.0.1]", "wss://[fe80::1%eth0]", "wss://[::1]9", "wss://::1", "wss://h..h",
            "wss://.h",
            "wss://h.", "wss://é", "wss://" + String(repeating: "a", count: 64),
            "wss://" + (0..<64).map { _ in "abc" }.joined(separator: "."), "ws:/h", "wss//h", "wss://h#x",
        ]
    )
    func malformed(text: String) {
        #expect(throws: RelayAddress.ParseError.malformed) { try RelayAddress(text) }
    }

    @Test("of other machines need TLS", arguments: ["ws://example.com", "ws://127.0.0.1.example.com", "ws://10.0.0.1"])
    func plaintext(text: String) {
        #expect(throws: RelayAddress.ParseError.plaintextElsewhere) { try RelayAddress(text) }
    }

    @Test(
        "lead elsewhere as curl's --connect-to does",
        arguments: [
            ("h:443:127.0.0.1:8443", "127.0.0.1", 8443), ("::other:", "other", 443), (":::1", "h", 1),
            ("h::[::1]:2", "::1", 2), ("x:443:y:1", "h", 443), ("h:444:y:1", "h", 443),
        ]
    )
    func detours(text: String, host: String, port: Int) throws {
        let detour = try #require(RelayDetour(text))
        let target = detour.target(of: try RelayAddress("wss://h"))
        #expect(target.host == host)
        #expect(target.port == port)
    }

    @Test("lead nowhere", arguments: ["", "a:1:b", "a:1:b:2:c", "a:x:b:1", "a:1:b:0", "[a:1:b:2", "a:1:[::1]x:2"])
    func malformedDetours(text: String) {
        #expect(RelayDetour(text) == nil)
    }
}
