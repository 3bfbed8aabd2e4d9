// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("Tunnel paths, IDs and domains")
struct TunnelPathTests {
    @Test("Paths are written in lower case and read in either case")
    func roundTrip() throws {
        var random = SeededGenerator()
        for _ in 0..<100 {
            let tunnel = TunnelID(checked: random.bytes(16))
            let routing = RoutingID(checked: random.bytes(3))
            for path in [TunnelPath.new(tunnel), .connect(routing, tunnel)] {
                #expect(try TunnelPath(parsing: path.text) == path, "\(random)")
                let digits = path.text.drop { $0 != "n" }
                #expect(digits == digits.lowercased()[...], "\(random)")
            }
            let shouted = "/cable/connect/\(routing.hex.uppercased())/\(tunnel.hex.uppercased())"
            #expect(try TunnelPath(parsing: shouted) == .connect(routing, tunnel), "\(random)")
        }
    }

    @Test("Paths have the expected form")
    func examples() throws {
        let tunnel = try #require(TunnelID(bytes: Array(0..<16)))
        let routing = RoutingID(node: 0x0A0B, check: 0xFF)
        #expect(TunnelPath.new(tunnel).text == "/cable/new/000102030405060708090a0b0c0d0e0f")
        #expect(TunnelPath.connect(routing, tunnel).text == "/cable/connect/0a0bff/000102030405060708090a0b0c0d0e0f")
        #expect(routing.node == NodeID(region: 2, node: 0x20B))
        #expect(routing.bytes == [0x0A, 0x0B, 0xFF])
        #expect(TunnelPath.subprotocol == "fido.cable")
        #expect(TunnelPath.routingIDHeader == "X-caBLE-Routing-ID")
    }

    static let id = "000102030405060708090a0b0c0d0e0f"

    @Test(
        "Other paths are rejected as unknown",
        arguments: [
            "", "/", "cable/new/\(id)", "/cable", "/cable/", "/cable/new", "/cable/connect/0a0bff", "//cable/new/\(id)",
            "/Cable/new/\(id)", "/cable/New/\(id)", "/cable/new/\(id)/", "/cable/new/\(id)/x", "/cable/old/\(id)",
            "/cable/connect/\(id)", "/cable/connect/0a0bff/\(id)/", "/x/cable/new/\(id)", "x/cable/new/\(id)",
            "/cable//new/\(id)",
            "/cable/contact", "/cable/contact/AQ/Ag", "/cable/contact/AQ/", "/cable/listen", "/cable/listen/AQ/Ag",
            "/cable/Contact/AQ", "/metrics", "/cable/../cable/new/\(id)",
            "/cable%2Fnew/\(id)", "/cаble/new/\(id)", "/cable/new\u{301}/\(id)",
        ]
    )
    func unknownPaths(path: String) {
        #expect(throws: TunnelPath.ParseError.unknownPath) { try TunnelPath(parsing: path) }
    }

    @Test(
        "IDs of another length or with other characters are malformed",
        arguments: [
            "/cable/new/", "/cable/new/\(id.dropLast())", "/cable/new/\(id)0", "/cable/new/\(id)00",
            "/cable/new/\(id.dropLast())g", "/cable/new/\(id.dropLast(2))%30", "/cable/new/\(id)?x=1",
            "/cable/new/\(id)#",
            "/cable/new/0x\(id.dropLast(2))", "/cable/new/\(id.dropLast())０", "/cable/new/ \(id.dropLast())",
            "/cable/new/+\(id.dropLast())", "/cable/connect//\(id)", "/cable/connect/0a0bf/\(id)",
            "/cable/connect/0a0bff0/\(id)", "/cable/connect/0a0bfg/\(id)", "/cable/connect/0a0bff/\(id.dropLast())",
            "/cable/connect/0a0bff/", "/cable/connect/\(id)/0a0bff",
            "/cable/contact/", "/cable/listen/", "/cable/contact/A", "/cable/contact/AQ==", "/cable/contact/AR",
            "/cable/contact/A+", "/cable/contact/AQ?x=1", "/cable/listen/AQ%20",
            // A combining mark forms a different character with the slash.
            "/cable/contact/\u{670}w", "/cable/contact/" + String(repeating: "A", count: 1367),
        ]
    )
    func malformedIDs(path: String) {
        #expect(throws: TunnelPath.ParseError.malformedID) { try TunnelPath(parsing: path) }
    }

    @Test("Contact IDs are in base64url, for a client that contacts and for a phone that listens")
    func contact() throws {
        let contact = try #require(ContactID(bytes: Array("example-contact-id".utf8)))
        #expect(try TunnelPath(parsing: "/cable/contact/ZXhhbXBsZS1jb250YWN0LWlk") == .contact(contact))
        #expect(try TunnelPath(parsing: "/cable/listen/ZXhhbXBsZS1jb250YWN0LWlk") == .listen(contact))
        #expect(try TunnelPath(parsing: "/cable/listen/-_8") == .listen(#require(ContactID(bytes: [0xFB, 0xFF]))))
        #expect(TunnelPath.clientPayloadHeader == "X-caBLE-Client-Payload")
        #expect(TunnelPath.signalConnectionHeader == "X-caBLE-Signal-Connection")
        #expect(TunnelPath.contactKeyHeader == "X-Hybrid-Contact-Key")
        #expect(TunnelPath.contactGoneHeader == "X-Hybrid-Contact-Gone")
    }

    @Test("Hexadecimal digits are ASCII only")
    func hex() {
        #expect(RoutingID(hex: "a1B2c3")?.bytes == [0xA1, 0xB2, 0xC3])
        for bad in ["", "a1b2c", "a1b2c3d4", "a1b2cg", "a1b2c ", "0xa1b2", "１２３４５６", "a1b2c\u{301}"] {
            #expect(RoutingID(hex: bad) == nil)
        }
        #expect(Hex.encode([0x00, 0x0F, 0xF0, 0xFF]) == "000ff0ff")
    }

    @Test("A domain is entered as a number or as a host name in either case")
    func arguments() {
        #expect(TunnelDomain(argument: "266")?.host == "cable.wufkweyy3uaxb.com")
        #expect(TunnelDomain(argument: "cable.wufkweyy3uaxb.com")?.id == 266)
        #expect(TunnelDomain(argument: "Cable.WUFKWEYY3uaxb.COM")?.id == 266)
        #expect(TunnelDomain(argument: "0")?.host == "cable.ua5v.com")
        #expect(TunnelDomain(argument: "cable.auth.com")?.id == 1)
        #expect(TunnelDomain(id: 1)?.isAssigned == true)
        #expect(TunnelDomain(id: 256)?.isAssigned == false)
        for bad in [
            "", "2", "255", "-1", "65536", "cable.wufkweyy3uaxb.org", "wufkweyy3uaxb.com", "cable..com", "example.com",
        ] {
            #expect(TunnelDomain(argument: bad) == nil)
        }
        for id in UInt16(2)...255 { #expect(TunnelDomain(id: id) == nil) }
    }
}
