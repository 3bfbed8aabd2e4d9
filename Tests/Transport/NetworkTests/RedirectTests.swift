// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridNetwork

@Suite("Targets of redirections")
struct RedirectTests {
    private static let current = (host: "relay.example", path: "/cable/new/00?x=1")

    @Test("Targets are names with TLS on port 443, or paths")
    func followed() throws {
        for (location, host, path) in [
            ("https://a.example/x?y", "a.example", "/x?y"), ("wss://A.Example", "a.example", "/"),
            ("HTTPS://a.example:443/", "a.example", "/"), ("wss://a.example?y", "a.example", "/?y"),
            ("//a.example/x", "a.example", "/x"), ("/x/y", "relay.example", "/x/y"),
            ("x", "relay.example", "/cable/new/x"),
            ("?y", "relay.example", "/cable/new/00?y"), ("https://a.example/x#there", "a.example", "/x"),
            ("/x:y", "relay.example", "/x:y"),
        ] {
            let redirect = try Redirect(location, from: Self.current)
            #expect(redirect.host == host && redirect.path == path, "\(location): \(redirect)")
        }
    }

    @Test("Other targets are rejected")
    func refused() {
        let cases: [(String, RedirectError)] = [
            ("", .malformed), ("https://", .malformed), ("https:///x", .malformed), ("https:x", .malformed),
            ("https://a b/", .malformed), ("https://a.example/\u{E9}", .malformed), ("https://a\r\nX: y/", .malformed),
            ("https:\\\\a.example", .malformed), ("https://u:p@a.example/", .malformed),
            ("https://a.example:x/", .malformed),
            ("https://a..example/", .malformed), ("https://[::1/", .malformed),
            ("/" + String(repeating: "x", count: 2048), .malformed), ("http://a.example/", .notSecure),
            ("ws://a.example/", .notSecure), ("ftp://a.example/", .notSecure), ("data:x", .notSecure),
            ("https://a.example:80/", .otherPort), ("https://a.example:8443/", .otherPort),
            ("https://192.0.2.1/", .address), ("https://[2001:db8::1]/", .address),
            ("https://[::ffff:127.0.0.1]/", .address),
            ("https://127.1/", .address), ("https://2130706433/", .address), ("https://0x7f.0.0.1/", .address),
        ]
        for (location, fault) in cases {
            #expect(throws: fault, "\(location)") { try Redirect(location, from: Self.current) }
        }
    }

    @Test("Host and path of an accepted target are valid in a request")
    func anything() {
        var random = SeededGenerator()
        let parts = [
            "https", "wss", "http", ":", "/", "//", "a.example", "127.0.0.1", "@", "[", "]", "::1", "?", "#", "\\",
            "\r\n", " ", "%0d", "443", "x", "é",
        ]
        for _ in 0..<Thoroughness.rounds(5_000, thorough: 500_000) {
            let text = (0..<Int.random(in: 0...8, using: &random)).map { _ in parts.randomElement(using: &random) ?? ""
            }.joined()
            guard let redirect = try? Redirect(text, from: Self.current) else { continue }
            #expect(HostName.isValid(redirect.host) && redirect.host == redirect.host.lowercased(), "\(text) \(random)")
            #expect(
                redirect.path.hasPrefix("/") && redirect.path.utf8.allSatisfy { (0x21...0x7E).contains($0) },
                "\(text) \(random)"
            )
        }
    }
}
