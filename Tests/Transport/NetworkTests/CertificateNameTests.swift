// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridNetwork

@Suite("Names in certificates")
struct CertificateNameTests {
    @Test("A name is compared label by label; a wildcard is a whole first label in front of two others")
    func names() {
        let cases: [(presented: String, host: String, isRight: Bool)] = [
            ("cable.example.com", "cable.example.com", true), ("CABLE.Example.com", "cable.example.com", true),
            ("cable.example.com", "CABLE.example.com", true), ("localhost", "localhost", true),
            ("*.example.com", "cable.example.com", true), ("*.example.com", "xn--bcher-kva.example.com", true),
            ("*.EXAMPLE.com", "cable.example.com", true), ("cable_1.example.com", "cable_1.example.com", true),
            ("*.example.com", "example.com", false), ("*.example.com", "a.cable.example.com", false),
            ("*.com", "example.com", false), ("*", "localhost", false),
            ("*.*.com", "cable.example.com", false), ("cable.*.com", "cable.example.com", false),
            ("c*.example.com", "cable.example.com", false), ("*e.example.com", "cable.example.com", false),
            ("**.example.com", "cable.example.com", false), ("*cable.example.com", "cable.example.com", false),
            ("example.com", "cable.example.com", false), ("cable.example.com", "example.com", false),
            ("cable.example.com.", "cable.example.com", false), (".cable.example.com", "cable.example.com", false),
            ("cable.example.co", "cable.example.com", false), ("", "cable.example.com", false),
            ("cable.example.com\0.evil.example", "cable.example.com", false),
            // KELVIN SIGN, whose lower case is k.
            ("\u{212A}able.example.com", "kable.example.com", false),
            ("127.0.0.1", "127.0.0.1", false), ("*.0.0.1", "127.0.0.1", false), ("::1", "::1", false),
        ]
        for (presented, host, isRight) in cases {
            #expect(ReferenceIdentity(host: host).matches(dnsName: presented.utf8) == isRight, "\(presented) \(host)")
        }
    }

    @Test("An address is compared with the literal that was named, and never with the address of a name")
    func addresses() {
        let loopback = [UInt8](repeating: 0, count: 15) + [1]
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 127, 0, 0, 1]
        let cases: [(presented: [UInt8], host: String, isRight: Bool)] = [
            ([127, 0, 0, 1], "127.0.0.1", true), (loopback, "::1", true), (loopback, "0:0::1", true),
            (mapped, "::ffff:127.0.0.1", true), (mapped, "127.0.0.1", false), ([127, 0, 0, 2], "127.0.0.1", false),
            ([127, 0, 0], "127.0.0.1", false), ([127, 0, 0, 1, 0], "127.0.0.1", false), ([], "127.0.0.1", false),
            ([127, 0, 0, 1], "localhost", false), (loopback, "localhost", false), ([], "localhost", false),
        ]
        for (presented, host, isRight) in cases {
            #expect(ReferenceIdentity(host: host).matches(address: presented) == isRight, "\(presented) \(host)")
        }
    }
}
