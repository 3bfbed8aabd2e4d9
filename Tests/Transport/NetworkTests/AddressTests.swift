// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridPrimitives
import NIOCore
import TestSupport
import Testing

@testable import HybridNetwork

@Suite("IP addresses, hosts and ports")
struct AddressTests {
    @Test(
        "Special-purpose addresses are not global",
        arguments: [
            "0.0.0.0", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
            "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.168.1.1", "198.18.0.1", "224.0.0.251",
            "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "fe80::1", "fec0::1",
            "fc00::1", "fdff::1", "ff02::fb", "2001:db8::1", "2001::1", "2002:7f00:1::", "2002:c0a8:101::1",
            "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:169.254.1.1", "64:ff9b::192.168.0.1", "64:ff9b:1::1",
            "100::1", "3fff::1", "5f00::1",
        ]
    )
    func local(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!address.isGlobal)
    }

    @Test(
        "Other addresses are global",
        arguments: [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255",
            "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        ]
    )
    func global(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.isGlobal)
    }

    @Test("An IPv4 address is as global as the IPv6 addresses that carry it")
    func carried() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(2_000, thorough: 200_000) {
            let four = random.bytes(4)
            let address = try #require(IPAddress(bytes: four))
            let mapped = IPAddress(bytes: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + four)
            let translated = IPAddress(bytes: [0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8) + four)
            let tunneled = IPAddress(bytes: [0x20, 0x02] + four + random.bytes(10))
            for carrier in [mapped, translated, tunneled] {
                #expect(carrier?.isGlobal == address.isGlobal, "\(address) \(random)")
            }
        }
    }

    @Test("Prefixes match the address's own network only")
    func networks() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(2_000, thorough: 100_000) {
            let bytes = random.bytes(Bool.random(using: &random) ? 4 : 16)
            let address = try #require(IPAddress(bytes: bytes))
            let bits = Int.random(in: 0...bytes.count * 8, using: &random)
            // An address that is the same up to that bit, and one that differs in an earlier bit.
            var alike = bytes
            for bit in bits..<max(bits, bytes.count * 8) where Bool.random(using: &random) {
                alike[bit / 8] ^= 0x80 >> (bit % 8)
            }
            let network = try #require(IPAddress(bytes: alike))
            #expect(address.hasPrefix(network, bits: bits), "\(random)")
            guard bits > 0 else { continue }
            let bit = Int.random(in: 0..<bits, using: &random)
            alike[bit / 8] ^= 0x80 >> (bit % 8)
            let other = try #require(IPAddress(bytes: alike))
            #expect(!address.hasPrefix(other, bits: bits), "\(random)")
        }
        let (four, six) = (try #require(IPAddress("0.0.0.0")), try #require(IPAddress("::")))
        #expect(!four.hasPrefix(six, bits: 0) && !six.hasPrefix(four, bits: 0))
        #expect(!four.hasPrefix(four, bits: 33) && !four.hasPrefix(four, bits: -1))
    }

    @Test(
        "Malformed addresses are rejected",
        arguments: [
            "", "1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "1.2.3.4.5", "1.2.3.256", "[::1]", "::1%lo", " ::1",
            "192.0.2.1\0",
            "192.0.2.1\0.example", "::1\0", "\0",
        ]
    )
    func malformed(text: String) { #expect(IPAddress(text) == nil) }

    /// The system's inet_pton(3) and inet_ntop(3).
    private enum Reference {
        static func bytes(_ text: String) -> [UInt8]? {
            var (four, six) = (in_addr(), in6_addr())
            if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
            return inet_pton(AF_INET6, text, &six) == 1 ? withUnsafeBytes(of: six) { Array($0) } : nil
        }

        static func text(_ bytes: [UInt8]) -> String {
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            let family = bytes.count == 4 ? AF_INET : AF_INET6
            inet_ntop(family, bytes, &text, socklen_t(text.count))
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    @Test("Addresses are parsed and printed as by the system")
    func reference() throws {
        var random = SeededGenerator()
        let parts = ["1", "0", "ffff", ":", ":", "::", ".", "1.2.3.4", "255", "256", "a", "00", "0001", "12345", "%"]
        for _ in 0..<Thoroughness.rounds(20_000, thorough: 1_000_000) {
            let text = (0..<random.number(0...14)).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
            guard text.utf8.count <= 45 else { continue }
            #expect(IPAddress(text)?.bytes == Reference.bytes(text), "\(text)")
            // Bytes with runs of zeros, which the text may abbreviate.
            let bytes: [UInt8] = (0..<8).flatMap { _ -> [UInt8] in
                [[0, 0] as [UInt8], [0, 0], [0xFF, 0xFF], random.bytes(2)].randomElement(using: &random) ?? [0, 0]
            }
            let address = try #require(IPAddress(bytes: bytes))
            #expect(address.description == Reference.text(bytes))
            #expect(IPAddress(address.description) == address)
        }
    }

    @Test("Hosts and ports are parsed, with IPv6 addresses in brackets")
    func hostPorts() {
        for (text, host, port) in [
            ("h", "h", nil), ("h:1", "h", 1), ("h:65535", "h", 65_535), ("[::1]", "::1", nil), ("[::1]:8", "::1", 8),
        ] as [(String, String, Int?)] {
            #expect(HostPort(text) == HostPort(host: host, port: port))
            #expect(HostPort(text)?.description == text)
        }
        for text in [
            "", ":1", "h:", "h:0", "h:65536", "h:+1", "h:1:2", "::1", "[::1", "[::1]1", "[h]:1", "[1.2.3.4]:1",
            "[fe80::1%lo]",
        ] {
            #expect(HostPort(text) == nil, "\(text)")
        }
        #expect(HostPort("[fe80::1%lo]:0", ports: 0...80, allowsZone: true) == HostPort(host: "fe80::1%lo", port: 0))
        #expect(HostPort("h:81", ports: 0...80) == nil)
    }

    @Test("Names of one network are recognized")
    func names() {
        for name in ["localhost", "a.localhost", "printer", "nas.local", "x.internal", "x.home.arpa"] {
            #expect(HostName.isLocal(name), "\(name)")
        }
        for name in ["cable.ua5v.com", "local.example", "notlocal.com", "home.arpa.example"] {
            #expect(!HostName.isLocal(name), "\(name)")
        }
    }

    @Test("Names consist of letters and digits, with a last label that is no number")
    func validNames() {
        let long = Array(repeating: String(repeating: "a", count: 63), count: 4).joined(separator: ".")
        for name in ["a", "a.b", "A-1_.example", "xn--bcher-kva.example", String(long.dropLast(2))] {
            #expect(HostName.isValid(name), "\(name)")
        }
        for name in [
            "", ".", "a.", ".a", "a..b", "1", "127.1", "2130706433", "0x7f", "a.0x1", "a.1", "bücher.example", "a b",
            "a/b", "a:1", "a%00", long, String(repeating: "a", count: 64),
        ] {
            #expect(!HostName.isValid(name), "\(name)")
        }
    }

    @Test("The system resolves addresses")
    func system() throws {
        let found = try NameLookup.system.addresses("127.0.0.1", 443)
        #expect(found.map(\.ipAddress) == ["127.0.0.1"] && found.map(\.port) == [443])
        #expect(try NameLookup.system.addresses("::1", 443).map(\.ipAddress) == ["::1"])
        #expect(throws: (any Error).self) { try NameLookup.system.addresses("relay.invalid", 443) }
    }
}
