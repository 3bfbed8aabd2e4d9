// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Contacts through a real relay", .timeLimit(.minutes(5)))
struct RealContactTests {
    private static let payload = ClientPayload(hex: "a10203")

    @Test("A contact wakes the phone, which joins the tunnel; both ends exchange messages")
    func joined() async throws {
        let key = ContactKey()
        try await Self.relay { endpoint in
            let listening = Signal()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await ContactListener.withListener(key, at: endpoint) { listener in
                        listening.fire()
                        let wake = try await listener.next()
                        #expect(wake.payload == Self.payload)
                        #expect((1...600).contains(wake.seconds))
                        try await WebSocketTunnel.withTunnel(.connect(wake.routing, wake.tunnel), at: endpoint) {
                            phone in
                            #expect(phone.routingID == nil)
                            #expect(try await phone.next() == [1])
                            try await phone.send(WireMessage(bytes: [2]))
                            await #expect(throws: TunnelError.closed(code: 1000)) { try await phone.next() }
                        }
                    }
                }
                group.addTask {
                    await listening.wait()
                    try await Self.contact(key, at: endpoint) { client, signalsConnection in
                        #expect(signalsConnection)
                        try await client.waitForPhone()
                        try await client.send(WireMessage(bytes: [1]))
                        #expect(try await client.next() == [2])
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A client that comes first is held until the phone listens, and its first message waits for the phone")
    func held() async throws {
        let key = ContactKey()
        try await Self.relay { endpoint in
            async let client: [UInt8] = Self.contact(key, at: endpoint) { client, _ in
                try await client.send(WireMessage(bytes: [1]))
                try await client.waitForPhone()
                return try await client.next()
            }
            try await ContactListener.withListener(key, at: endpoint) { listener in
                let wake = try await listener.next()
                try await WebSocketTunnel.withTunnel(.connect(wake.routing, wake.tunnel), at: endpoint) { phone in
                    #expect(try await phone.next() == [1])
                    try await phone.send(WireMessage(bytes: [2]))
                    await #expect(throws: TunnelError.self) { try await phone.next() }
                }
            }
            let answer = try await client
            #expect(answer == [2])
        }
    }

    @Test("A declined contact ends; a revoked contact ID is gone, with the phone's proof")
    func declinedAndRevoked() async throws {
        let key = ContactKey()
        try await Self.relay { endpoint in
            let declined = Task { await Self.failure(key, at: endpoint) }
            try await ContactListener.withListener(key, at: endpoint) { listener in
                try await listener.decline(try await listener.next().number)
                #expect(await declined.value == .phoneDeclined)
                try await listener.revoke()
                await #expect(throws: TunnelError.closed(code: 1000)) { try await listener.next() }
            }
            let gone = await Self.failure(key, at: endpoint)
            #expect(gone?.isContactGone == true)
            let revocation = try #require(gone?.revocation)
            #expect(revocation.proves(key.publicKey.contactID, host: endpoint.domain.host))
        }
    }

    @Test("A phone whose relay has another name cannot prove its contact ID")
    func otherName() async throws {
        try await Self.relay(name: "cable.ua5v.com") { endpoint in
            await #expect(throws: TunnelError.closed(code: 1008)) {
                try await ContactListener.withListener(ContactKey(), at: endpoint) { _ in }
            }
        }
        try await Self.relay(name: nil) { endpoint in
            await #expect(throws: TunnelError.listeningNotOffered) {
                try await ContactListener.withListener(ContactKey(), at: endpoint) { _ in }
            }
            #expect(await Self.failure(ContactKey(), at: endpoint) == .contactUnreachable)
        }
    }

    // MARK: Helpers

    private static func contact<Outcome: Sendable>(
        _ key: ContactKey,
        at endpoint: RelayEndpoint,
        _ body: @Sendable (WebSocketTunnel, Bool) async throws -> Outcome
    ) async throws -> Outcome {
        try await WebSocketTunnel.withContact(
            key.publicKey.contactID,
            payload: #require(payload),
            at: endpoint,
            body
        )
    }

    /// Returns the error of a contact that waits for the phone.
    private static func failure(_ key: ContactKey, at endpoint: RelayEndpoint) async -> TunnelError? {
        do {
            try await contact(key, at: endpoint) { client, _ in try await client.waitForPhone() }
            return nil
        } catch {
            return error as? TunnelError
        }
    }

    private static func relay(
        name: String? = TestCertificates.domain?.host,
        _ body: (RelayEndpoint) async throws -> Void
    ) async throws {
        let files = try await TestCertificates.shared()
        let tls = try RelayCertificate.context(certificateFile: files.certificate(.relay), keyFile: files.key(.relay))
        try await TestRelay.run(transport: .tls(tls)) {
            $0.contactHost = name
        } _: { _, address in
            try await body(try await ScriptedRelay.endpoint(port: try #require(address.port)))
        }
    }
}
