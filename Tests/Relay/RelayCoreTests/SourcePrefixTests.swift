// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("Source of a connection")
struct SourcePrefixTests {
    private func source(_ address: String, port: Int = 1) throws -> SourcePrefix {
        SourcePrefix(try SocketAddress(ipAddress: address, port: port))
    }

    @Test(
        "is the same for these addresses",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("192.0.2.1", "::ffff:192.0.2.1"),
            ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"),
            ("127.0.0.1", "::ffff:7f00:1"), ("::1", "::2"), ("fe80::1", "fe80::2"),
        ]
    )
    func same(one: String, other: String) throws {
        #expect(try source(one, port: 1) == source(other, port: 65535))
        #expect(try source(one).hashValue == source(other).hashValue)
    }

    @Test(
        "differs for these addresses",
        arguments: [
            ("192.0.2.1", "192.0.2.2"), ("192.0.2.1", "193.0.2.1"), ("2001:db8::1", "2001:db8:0:1::1"),
            ("2001:db8::1", "3001:db8::1"), ("127.0.0.1", "::1"), ("0.0.0.0", "::"), ("192.0.2.1", "::192.0.2.1"),
            ("1.2.3.4", "102:304::"),
        ]
    )
    func different(one: String, other: String) throws {
        #expect(try source(one) != source(other))
    }

    @Test("is one for all unix sockets")
    func unixSockets() throws {
        let one = SourcePrefix(try SocketAddress(unixDomainSocketPath: "/run/a"))
        #expect(one == SourcePrefix(try SocketAddress(unixDomainSocketPath: "")))
        for address in ["0.0.0.0", "::", "127.0.0.1"] { #expect(try one != source(address)) }
    }

    @Test("is not printed")
    func hidden() throws {
        for address in ["203.0.113.77", "2001:db8:4d4d:4d4d::1"] {
            let source = try source(address)
            for text in Shown.texts(source) {
                for part in ["203", "113", "77", "2001", "db8", "4d4d", "3405803853"] {
                    #expect(!text.contains(part), "\(text)")
                }
            }
            #expect("\(source)" == "SourcePrefix(hidden)")
        }
    }
}
