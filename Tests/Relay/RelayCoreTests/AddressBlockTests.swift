// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("A block of addresses")
struct AddressBlockTests {
    @Test(
        "has addresses of the public internet or not",
        arguments: [
            ("unix", false), ("127.0.0.1", false), ("10.0.0.0/8", false), ("192.168.0.0/16", false),
            ("100.64.0.0/10", false),
            ("fd00::/8", false), ("fc00::/7", false), ("2001:db8::/32", false), ("8.8.8.8", true), ("10.0.0.0/7", true),
            ("0.0.0.0/0", true), ("::/0", true), ("192.0.0.0/8", true), ("2a00::/16", true),
            ("::ffff:8.8.8.0/120", true),
        ]
    )
    func publicAddresses(text: String, isPublic: Bool) throws {
        #expect(try AddressBlock(parsing: text).isPublic == isPublic)
    }

    private static func error(_ text: String) -> AddressBlock.ParseError? {
        do throws(AddressBlock.ParseError) {
            _ = try AddressBlock(parsing: text)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "is parsed and formatted",
        arguments: [
            ("192.0.2.0/24", "192.0.2.0/24"), ("192.0.2.1", "192.0.2.1/32"), ("192.0.2.1/32", "192.0.2.1/32"),
            ("0.0.0.0/0", "0.0.0.0/0"), ("128.0.0.0/1", "128.0.0.0/1"), ("10.0.0.0/8", "10.0.0.0/8"),
            ("2001:DB8::/32", "2001:db8::/32"), ("2001:db8:0:0::1", "2001:db8::1/128"), ("::/0", "::/0"),
            ("::1", "::1/128"), ("8000::/1", "8000::/1"), ("fe80::/10", "fe80::/10"), ("unix", "unix"),
            ("::ffff:192.0.2.0/120", "192.0.2.0/24"), ("::ffff:c000:201", "192.0.2.1/32"),
            ("::ffff:0:0/96", "0.0.0.0/0"), ("::/80", "::/80"), ("64:ff9b::/96", "64:ff9b::/96"),
        ]
    )
    func forms(text: String, canonical: String) throws {
        let block = try AddressBlock(parsing: text)
        #expect(block.description == canonical)
        #expect(try AddressBlock(parsing: canonical) == block)
    }

    @Test(
        "is not parsed from other texts",
        arguments: [
            "", " ", "/24", "example.com", "localhost", "192.0.2", "192.0.2.1.1", "192.0.2.256", "192.0.2.01/32", "1",
            " 192.0.2.1", "192.0.2.1 ", "192.0.2.1\n", "192.0.2.1\u{0}", "0x7f.0.0.1", "[::1]", "::1%lo", "1::2::3",
            ":::",
            "2001:db8::g", "UNIX", "unix/8", "unix:", "192.0.2.*", "192.0.2.0-255", "1:2:3:4:5:6:7:8:9", "/",
        ]
    )
    func notAnAddress(text: String) {
        #expect(Self.error(text) == .notAnAddress(text))
    }

    @Test(
        "has a plain number after its slash",
        arguments: [
            ("192.0.2.0/", 32), ("192.0.2.0/33", 32), ("192.0.2.0/-1", 32), ("192.0.2.0/+8", 32),
            ("192.0.2.0/024", 32), ("192.0.2.0/ 24", 32), ("192.0.2.0/24 ", 32), ("192.0.2.0/255.255.255.0", 32),
            ("192.0.2.0/24/24", 32), ("192.0.2.0/x", 32), ("2001:db8::/129", 128), ("2001:db8::/1000", 128),
            ("::/99999999999999999999", 128), ("::/", 128), ("::ffff:192.0.2.0/129", 128),
        ]
    )
    func malformedPrefix(text: String, maximum: Int) {
        #expect(Self.error(text) == .malformedPrefix(text, maximum: maximum))
        #expect(Self.error(text)?.description.contains("0 to \(maximum)") == true)
    }

    @Test(
        "has no bits after its prefix, and the error states both corrections",
        arguments: [
            ("192.0.2.1/24", "192.0.2.0/24", "192.0.2.1"), ("192.0.2.1/0", "0.0.0.0/0", "192.0.2.1"),
            ("255.255.255.255/31", "255.255.255.254/31", "255.255.255.255"),
            ("2001:db8::1/64", "2001:db8::/64", "2001:db8::1"), ("::1/0", "::/0", "::1"),
            ("::ffff:192.0.2.1/120", "192.0.2.0/24", "192.0.2.1"),
            ("::ffff:192.0.2.0/64", "::/64", "::ffff:192.0.2.0"),
        ]
    )
    func bitsAfterPrefix(text: String, block: String, address: String) {
        let error = Self.error(text)
        #expect(error == .bitsAfterPrefix(text, block: block, address: address))
        #expect(error?.description.contains("write \(block) for the block or \(address) for the address") == true)
        #expect(Self.error(block) == nil)
    }

    @Test(
        "contains the addresses that share its prefix",
        arguments: [
            ("192.0.2.0/24", ["192.0.2.0", "192.0.2.255", "::ffff:192.0.2.7"], ["192.0.3.0", "192.0.1.255", "::1"]),
            ("192.0.2.1", ["192.0.2.1", "::ffff:192.0.2.1"], ["192.0.2.0", "192.0.2.2", "::192.0.2.1"]),
            ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255", "::ffff:1.2.3.4"], ["::", "::1", "::fffe:1.2.3.4"]),
            ("128.0.0.0/1", ["128.0.0.0", "255.0.0.1"], ["127.255.255.255"]),
            ("::ffff:192.0.2.0/120", ["192.0.2.9", "::ffff:192.0.2.9"], ["192.0.3.1"]),
            ("2001:db8::/32", ["2001:db8::", "2001:db8:ffff::1"], ["2001:db9::", "2001:db7:ffff::", "32.1.13.184"]),
            ("2001:db8::1", ["2001:db8::1"], ["2001:db8::2", "2001:db8::"]),
            ("2001:db8::/65", ["2001:db8::7fff:0:0:1"], ["2001:db8::8000:0:0:1"]),
            ("::/0", ["::", "::1", "ffff::"], ["1.2.3.4", "::ffff:1.2.3.4"]),
            ("unix", [], ["127.0.0.1", "::1", "0.0.0.0", "::"]),
        ] as [(String, [String], [String])]
    )
    func contains(text: String, inside: [String], outside: [String]) throws {
        let block = try AddressBlock(parsing: text)
        for address in inside { #expect(block.contains(try SocketAddress(ipAddress: address, port: 7)), "\(address)") }
        for address in outside {
            #expect(!block.contains(try SocketAddress(ipAddress: address, port: 7)), "\(address)")
        }
    }

    @Test("unix contains all unix sockets, and no other block contains one")
    func unixSockets() throws {
        let socket = try SocketAddress(unixDomainSocketPath: "/run/relay.sock")
        #expect(try AddressBlock(parsing: "unix").contains(socket))
        for text in ["0.0.0.0/0", "::/0"] { #expect(try !AddressBlock(parsing: text).contains(socket)) }
    }

    @Test("agrees with a bit-by-bit comparison", arguments: 0..<30)
    func reference(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            let length = random.number(0...1) == 0 ? 4 : 16
            let prefix = random.number(0...(length * 8))
            var network = random.bytes(length)
            for bit in prefix..<(length * 8) { network[bit / 8] &= ~(0x80 >> UInt8(bit % 8)) }
            var other = network
            for _ in 0..<random.number(0...3) {
                let bit = random.number(0...(length * 8 - 1))
                other[bit / 8] ^= 0x80 >> UInt8(bit % 8)
            }
            let shared =
                zip(network, other).enumerated().first { $1.0 != $1.1 }
                .map { $0 * 8 + ($1.0 ^ $1.1).leadingZeroBitCount } ?? length * 8
            let text = try #require(SocketAddress(packed: network, port: 0)?.ipAddress)
            let block = try AddressBlock(parsing: "\(text)/\(prefix)")
            let address = try #require(SocketAddress(packed: other, port: 0))
            #expect(block.contains(address) == (shared >= prefix), "\(random)")
        }
    }
}
