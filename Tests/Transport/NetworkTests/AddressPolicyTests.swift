// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import Testing

@testable import HybridNetwork

@Suite("Addresses and URLs that another party chose")
struct AddressPolicyTests {
    /// The first and the last address of each block that is refused, and the kind of the block.
    private static let refused = [
        ("unspecified", ["0.0.0.0", "0.255.255.255", "::"]),
        ("private", ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"]),
        ("loopback", ["127.0.0.1", "127.255.255.255", "::1"]),
        ("shared (CGNAT)", ["100.64.0.0", "100.100.100.200", "100.127.255.255"]),
        ("link-local", ["169.254.0.0", "169.254.255.255", "fe80::1", "febf:ffff::1"]),
        ("metadata", ["169.254.169.254", "169.254.170.2", "fd00:ec2::254", "168.63.129.16", "192.0.0.192"]),
        ("protocol assignments", ["192.0.0.0", "192.0.0.255", "2001::1", "2001:1ff:ffff::1"]),
        ("documentation", ["192.0.2.1", "198.51.100.1", "203.0.113.255", "2001:db8::1", "3fff:fff::1"]),
        ("benchmarks", ["198.18.0.0", "198.19.255.255", "2001:2::1"]),
        ("6to4 relay", ["192.88.99.1"]),
        ("multicast", ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"]),
        ("reserved", ["240.0.0.1", "255.255.255.254", "4000::1", "1fff::1"]),
        ("broadcast", ["255.255.255.255"]),
        ("unique local", ["fc00::1", "fdff:ffff::1"]),
        ("site-local", ["fec0::1"]),
        ("IPv4-mapped", ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8"]),
        ("IPv4-compatible", ["::127.0.0.1", "::8.8.8.8"]),
        ("IPv4-translated", ["::ffff:0:8.8.8.8"]),
        ("NAT64", ["64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::10.0.0.1", "64:ff9b:1::8.8.8.8"]),
        ("6to4", ["2002:a00:1::1", "2002:808:808::1"]),
        ("Teredo", ["2001:0:808:808::1"]),
        ("discard", ["100::1"]),
    ]

    @Test("Refused addresses", arguments: refused)
    func refusedAddresses(kind: String, addresses: [String]) throws {
        for text in addresses {
            let address = try #require(IPAddress(text), "\(text)")
            #expect(!AddressPolicy.globalOnly.permits(address), "\(kind): \(text)")
            #expect(AddressPolicy.any.permits(address))
            let url = try HTTPSURL(parsing: "https://\(HostPort(host: text, port: nil))/")
            #expect(!AddressPolicy.globalOnly.permits(url), "\(kind): \(text) as a literal")
        }
    }

    @Test(
        "Permitted addresses, also next to refused blocks",
        arguments: [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
            "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
            "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15", "2606:4700::1111",
            "2001:200::1", "2003::1", "2a00:1450::1", "3ffe::1",
        ]
    )
    func permittedAddresses(text: String) throws {
        #expect(AddressPolicy.globalOnly.permits(try #require(IPAddress(text))))
    }

    @Test("Every IPv4 address is refused in each of its IPv6 forms")
    func embedded() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let four = (0..<4).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
            let forms: [[[UInt8]]] = [
                [zeros(12), four], [zeros(10), [0xFF, 0xFF], four], [[0, 0x64, 0xFF, 0x9B], zeros(8), four],
                [[0x20, 0x02], four, zeros(10)],
            ]
            for bytes in forms.map({ $0.flatMap(\.self) }) {
                #expect(!AddressPolicy.globalOnly.permits(try #require(IPAddress(bytes: bytes))))
            }
        }
    }

    @Test(
        "URLs that lead into a network of its own, or to another port",
        arguments: [
            "https://localhost/", "https://intranet/", "https://printer.local/", "https://db.internal/",
            "https://nas.home.arpa/", "https://metadata.google.internal/", "https://push.example:8443/",
            "https://push.example:80/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://127.0.0.1/",
        ]
    )
    func refusedURLs(text: String) throws {
        #expect(!AddressPolicy.globalOnly.permits(try HTTPSURL(parsing: text)))
    }

    @Test(
        "URLs that programs could read differently",
        arguments: [
            "http://push.example/", "ftp://push.example/", "push.example", "https:push.example", "https:///path",
            "https://user@push.example/", "https://user:secret@push.example/", "https://push.example\\@evil.example/",
            "https://2130706433/", "https://0x7f.1/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.1/",
            "https://[::1/", "https://[fe80::1%25eth0]/", "https://push.example:0/", "https://push.example:443x/",
            "https://push.example:65536/", "https://push.example./", "https://.push.example/", "https://push..example/",
            "https://pu sh.example/", "https://push.example/\r\nHost: other", "https://ⓛocalhost/", "https://",
            "gopher://push.example/", "file:///etc/passwd",
            "https://push.example/" + String(repeating: "x", count: 2048),
        ]
    )
    func malformedURLs(text: String) {
        #expect(throws: HTTPSError.self) { try HTTPSURL(parsing: text) }
    }

    @Test("The parts of a URL")
    func parts() throws {
        let url = try HTTPSURL(parsing: "HTTPS://Push.Example?a=b#fragment")
        #expect((url.host, url.port, url.target) == ("push.example", 443, "/?a=b"))
        #expect(url.origin == "https://push.example" && url.authority == "push.example")
        let other = try HTTPSURL(parsing: "https://[2606:4700::1111]:8443/x/../y?z")
        #expect((other.host, other.port, other.target) == ("2606:4700::1111", 8443, "/x/../y?z"))
        #expect(other.origin == "https://[2606:4700::1111]:8443")
        #expect(try HTTPSURL(parsing: "https://push.example:443/").origin == "https://push.example")
        #expect("\(url)" == "HTTPSURL(hidden)")
    }

    @Test("Targets of redirections")
    func redirections() throws {
        let url = try HTTPSURL(parsing: "https://push.example:8443/a/b")
        #expect(try url.redirected(to: "c").target == "/a/c")
        #expect(try url.redirected(to: "/c").port == 8443)
        #expect(try url.redirected(to: "https://other.example/c").origin == "https://other.example")
        #expect(try url.redirected(to: "//other.example/c").origin == "https://other.example")
        for text in ["http://other.example/", "wss://other.example/", "https://127.0.0.1/", "https://a@b.example/", ""]
        {
            #expect(throws: HTTPSError.redirectionRefused) { try url.redirected(to: text) }
        }
    }
}
