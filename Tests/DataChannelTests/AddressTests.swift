// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Addresses and names of one network")
struct AddressTests {
    @Test(
        "are told from those that mean the same everywhere",
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
        let address = try #require(NetworkAddress(text))
        #expect(!address.isGlobal)
    }

    @Test(
        "are not all there are",
        arguments: [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255",
            "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        ]
    )
    func global(text: String) throws {
        let address = try #require(NetworkAddress(text))
        #expect(address.isGlobal)
    }

    @Test("are read whole or not at all", arguments: ["192.0.2.1\0", "192.0.2.1\0.example", "::1\0", "\0", ""])
    func whole(text: String) {
        #expect(NetworkAddress(text) == nil)
    }

    @Test("are the same in IPv4 and in the IPv6 addresses that carry it")
    func carried() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(2_000, thorough: 200_000) {
            let four = random.bytes(4)
            let address = try #require(NetworkAddress(bytes: four))
            let mapped = NetworkAddress(bytes: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + four)
            let translated = NetworkAddress(bytes: [0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8) + four)
            let tunnelled = NetworkAddress(bytes: [0x20, 0x02] + four + random.bytes(10))
            for carrier in [mapped, translated, tunnelled] {
                #expect(carrier?.isGlobal == address.isGlobal, "\(address) \(random)")
            }
        }
    }

    @Test("begin with their network, and with no other of the same length")
    func networks() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(2_000, thorough: 100_000) {
            let bytes = random.bytes(Bool.random(using: &random) ? 4 : 16)
            let address = try #require(NetworkAddress(bytes: bytes))
            let bits = Int.random(in: 0...bytes.count * 8, using: &random)
            // Another address that is the same up to that bit, and one that differs in a bit before.
            var alike = bytes
            for bit in bits..<max(bits, bytes.count * 8) where Bool.random(using: &random) {
                alike[bit / 8] ^= 0x80 >> (bit % 8)
            }
            let network = try #require(NetworkAddress(bytes: alike))
            #expect(address.begins(with: network, bits: bits), "\(random)")
            guard bits > 0 else { continue }
            let bit = Int.random(in: 0..<bits, using: &random)
            alike[bit / 8] ^= 0x80 >> (bit % 8)
            let other = try #require(NetworkAddress(bytes: alike))
            #expect(!address.begins(with: other, bits: bits), "\(random)")
        }
        let (four, six) = (try #require(NetworkAddress("0.0.0.0")), try #require(NetworkAddress("::")))
        #expect(!four.begins(with: six, bits: 0) && !six.begins(with: four, bits: 0))
        #expect(!four.begins(with: four, bits: 33) && !four.begins(with: four, bits: -1))
    }

    @Test(
        "are not read from other ways of writing",
        arguments: ["", "1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "1.2.3.4.5", "1.2.3.256", "[::1]", "::1%lo", " ::1"]
    )
    func malformed(text: String) { #expect(NetworkAddress(text) == nil) }

    @Test("have names, too")
    func names() {
        for name in ["localhost", "a.localhost", "printer", "nas.local", "x.internal", "x.home.arpa"] {
            #expect(HostName.isLocal(name), "\(name)")
        }
        for name in ["cable.ua5v.com", "local.example", "notlocal.com", "home.arpa.example"] {
            #expect(!HostName.isLocal(name), "\(name)")
        }
    }

    @Test("and names are of letters and digits, with a last label that is no number")
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
}
