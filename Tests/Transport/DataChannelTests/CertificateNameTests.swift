// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Testing

@testable import HybridDataChannel

@Suite("Names in certificates", .timeLimit(.minutes(5)))
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

    /// Certificates that are not for the relay's name, all from the trusted authority.
    private static let wrong: [TestCertificates.Identity] = [
        .otherHost, .addressOnly, .otherHostAndAddress, .commonName, .highWildcard, .partialWildcard,
    ]

    private static let token = BearerToken("secret-1".utf8)

    @Test("Nothing is sent to a server with the relay's address but without its name", arguments: wrong)
    func wrongName(identity: TestCertificates.Identity) async throws {
        let host = try #require(TestCertificates.domain?.host)
        let (direct, refusal) = try await ScriptedRelay.run(identity) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0, bearerToken: Self.token)
        }
        #expect(refusal?.bare == .certificateForOtherHost(host))
        #expect(direct == [])
        // Behind a proxy, the address of the socket is the proxy's.
        let (behindProxy, again) = try await ScriptedRelay.run(nil) { peer in
            _ = try await peer.answerAsProxy(for: identity)
            return await peer.readToEnd()
        } client: {
            await Client.refusal(at: ScriptedRelay.behindProxy($0), bearerToken: Self.token)
        }
        #expect(again == .certificateForOtherHost(host))
        #expect(behindProxy == [])
    }

    @Test(
        "The relay's name suffices, alone, with an address, or as a wildcard",
        arguments: [TestCertificates.Identity.relay, .nameAndAddress, .wildcard]
    )
    func rightName(identity: TestCertificates.Identity) async throws {
        for isBehindProxy in [false, true] {
            let (head, failure) = try await ScriptedRelay.run(isBehindProxy ? nil : identity) { peer in
                if isBehindProxy { _ = try await peer.answerAsProxy(for: identity) }
                let head = try await peer.answer()
                _ = try await peer.finish()
                return head
            } client: { endpoint in
                let endpoint = isBehindProxy ? ScriptedRelay.behindProxy(endpoint) : endpoint
                return await Client.failure(at: endpoint, bearerToken: Self.token) { _ in }
            }
            #expect(failure == nil)
            #expect(head.contains("Authorization: Bearer secret-1\r\n"))
        }
    }
}
