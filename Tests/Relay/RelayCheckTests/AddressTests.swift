// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridRelayCheck

@Suite("Relay addresses")
struct AddressTests {
    @Test(
        "Valid addresses are parsed and normalized",
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
        "Malformed addresses are rejected",
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

    @Test(
        "ws:// to another computer is rejected",
        arguments: ["ws://example.com", "ws://127.0.0.1.example.com", "ws://10.0.0.1"]
    )
    func plaintext(text: String) {
        #expect(throws: RelayAddress.ParseError.plaintextElsewhere) { try RelayAddress(text) }
    }
}
