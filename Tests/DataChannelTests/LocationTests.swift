// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Testing

@testable import HybridDataChannel

@Suite("Where a relay is")
struct LocationTests {
    /// A detour's text and its four parts.
    struct Reading: Sendable, CustomTestStringConvertible {
        let text: String
        let from: (host: String?, port: Int?)
        let to: (host: String?, port: Int?)
        var testDescription: String { text }
    }

    static let readings = [
        Reading(text: "a.example:443:b.example:8443", from: ("a.example", 443), to: ("b.example", 8443)),
        Reading(text: "A.Example:443:B.example:8443", from: ("a.example", 443), to: ("B.example", 8443)),
        Reading(text: "a.example:443:[::1]:8443", from: ("a.example", 443), to: ("::1", 8443)),
        Reading(text: "[2001:db8::1]:443:[::1]:1", from: ("2001:db8::1", 443), to: ("::1", 1)),
        Reading(text: ":::", from: (nil, nil), to: (nil, nil)),
        Reading(text: "::127.0.0.1:65535", from: (nil, nil), to: ("127.0.0.1", 65_535)),
        Reading(text: "a.example::b.example:", from: ("a.example", nil), to: ("b.example", nil)),
        Reading(text: ":443::8443", from: (nil, 443), to: (nil, 8443)),
    ]

    @Test("is told in curl's form", arguments: readings)
    func detours(_ reading: Reading) throws {
        let detour = try #require(ConnectTo(reading.text))
        #expect(detour.fromHost == reading.from.host)
        #expect(detour.fromPort == reading.from.port)
        #expect(detour.toHost == reading.to.host)
        #expect(detour.toPort == reading.to.port)
    }

    @Test(
        "is not told in another form",
        arguments: [
            "", "a", "a:1", "a:1:b", "a:1:b:2:", "a:1:b:2:c", "a:0:b:1", "a:1:b:0", "a:65536:b:1", "a:1:b:65536",
            "a:x:b:1", "a:-1:b:1", "a:+1:b:1", "a:1:b:+1", "a: 1:b:1", "a:1:b:1 ", "a:1:[::1:2", "[::1:1:b:2",
            "a:1:::1:2", "a:1:[::1]x:2", "a:1:[::1][::2]:2", "a:1:b:1e3", "a:1:b:٣",
        ]
    )
    func noDetours(text: String) {
        #expect(ConnectTo(text) == nil)
    }

    @Test("is the domain's own host and port where no detour applies")
    func target() throws {
        let domain = try #require(TunnelDomain(id: 266))
        func target(_ detour: String?) throws -> String {
            var location = RelayEndpoint(domain: domain)
            if let detour {
                let parsed: ConnectTo = try #require(ConnectTo(detour))
                location.detours = [parsed]
            }
            let target = location.target(of: domain.host)
            return "\(target.host) \(target.port)"
        }
        let own = "\(domain.host) 443"
        #expect(try target(nil) == own)
        #expect(try target(":::") == own)
        #expect(try target("other.example:443:127.0.0.1:1") == own)
        #expect(try target("\(domain.host):444:127.0.0.1:1") == own)
        #expect(try target("\(domain.host):443:127.0.0.1:1") == "127.0.0.1 1")
        #expect(try target("\(domain.host.uppercased()):443:127.0.0.1:1") == "127.0.0.1 1")
        #expect(try target("::127.0.0.1:") == "127.0.0.1 443")
        #expect(try target(":443::8443") == "\(domain.host) 8443")
    }
}
