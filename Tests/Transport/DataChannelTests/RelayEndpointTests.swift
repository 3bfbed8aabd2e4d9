// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import HybridPrimitives
import Testing

@testable import HybridDataChannel

@Suite("Relay endpoints")
struct RelayEndpointTests {
    /// The text of an override and its four parts.
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

    @Test("Overrides are parsed as by curl", arguments: readings)
    func overrides(_ reading: Reading) throws {
        let override = try #require(ConnectTo(reading.text))
        #expect(override.fromHost == reading.from.host)
        #expect(override.fromPort == reading.from.port)
        #expect(override.toHost == reading.to.host)
        #expect(override.toPort == reading.to.port)
    }

    @Test(
        "Malformed overrides are rejected",
        arguments: [
            "", "a", "a:1", "a:1:b", "a:1:b:2:", "a:1:b:2:c", "a:0:b:1", "a:1:b:0", "a:65536:b:1", "a:1:b:65536",
            "a:x:b:1", "a:-1:b:1", "a:+1:b:1", "a:1:b:+1", "a: 1:b:1", "a:1:b:1 ", "a:1:[::1:2", "[::1:1:b:2",
            "a:1:::1:2", "a:1:[::1]x:2", "a:1:[::1][::2]:2", "a:1:b:1e3", "a:1:b:٣",
        ]
    )
    func malformedOverrides(text: String) {
        #expect(ConnectTo(text) == nil)
    }

    @Test("Without a matching override, the target is the domain's host and port")
    func target() throws {
        let domain = try #require(TunnelDomain(id: 266))
        func target(_ override: String?) throws -> String {
            var endpoint = RelayEndpoint(domain: domain)
            if let override { endpoint.network.connectTo = [try #require(ConnectTo(override) as ConnectTo?)] }
            let target = endpoint.target(of: domain.host)
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
