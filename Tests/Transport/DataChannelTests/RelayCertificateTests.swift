// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import NetworkTestSupport
import Testing

@testable import HybridDataChannel

@Suite("Names in a relay's certificate", .timeLimit(.minutes(5)))
struct RelayCertificateTests {
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
        #expect(refusal?.bare == .network(.certificateForOtherHost(host)))
        #expect(direct == [])
        // Behind a proxy, the address of the socket is the proxy's.
        let (behindProxy, again) = try await ScriptedRelay.run(nil) { peer in
            _ = try await peer.answerAsProxy(for: identity)
            return await peer.readToEnd()
        } client: {
            await Client.refusal(at: ScriptedRelay.behindProxy($0), bearerToken: Self.token)
        }
        #expect(again == .network(.certificateForOtherHost(host)))
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
