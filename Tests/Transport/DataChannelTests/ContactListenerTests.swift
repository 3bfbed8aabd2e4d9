// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import HybridPrimitives
import HybridThreads
import NIOCore
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("A phone that listens for contacts", .timeLimit(.minutes(5)))
struct ContactListenerTests {
    private static let key = ContactKey()
    private static let challenge = ListenChallenge(bytes: [UInt8](repeating: 0x5A, count: 32))
    private static let hello = challenge.map { Self.frame(.hello($0, pingSeconds: 55)) } ?? []

    private static func frame(_ message: ListenMessage) -> [UInt8] { Wire.frame(message.encoded) }

    private static func wake(_ number: UInt32) throws -> ListenMessage {
        .wake(
            number: number,
            RoutingID(node: 7, check: 9),
            .numbered(UInt8(number)),
            try #require(ClientPayload(bytes: [1, 2, 3])),
            seconds: 120
        )
    }

    @Test("The phone proves its contact ID, receives wake-ups, declines one and revokes the contact ID")
    func conversation() async throws {
        let host = try #require(TestCertificates.domain?.host)
        let token = try #require(BearerToken("token".utf8))
        let (head, wakes) = try await ScriptedRelay.run { peer in
            let head = try await peer.open(ListenMessage.subprotocol, then: Self.hello)
            guard case .own(let key, let signature) = try await peer.readMessage() else { throw Unexpected() }
            #expect(key == Self.key.publicKey)
            let challenge = try #require(Self.challenge)
            #expect(key.verifies(signature, of: .listen(host: host, challenge, key.contactID)))
            #expect(!key.verifies(signature, of: .listen(host: "cable.ua5v.com", challenge, key.contactID)))
            try await peer.send(Self.frame(.ok) + Self.frame(Self.wake(1)) + Self.frame(Self.wake(2)))
            #expect(try await peer.readMessage() == .decline(number: 2))
            guard case .gone(let revocation) = try await peer.readMessage() else { throw Unexpected() }
            let proof = ContactRevocation(publicKey: key, signature: revocation)
            #expect(proof.proves(key.contactID, host: host))
            #expect(!proof.proves(key.contactID, host: "cable.ua5v.com"))
            #expect(try await peer.finish() == 1000)
            return head
        } client: { endpoint in
            try await ContactListener.withListener(Self.key, at: endpoint, bearerToken: token) { listener in
                let wakes = [try await listener.next(), try await listener.next()]
                try await listener.decline(wakes[1].number)
                try await listener.revoke()
                return wakes
            }
        }
        let payload = try #require(ClientPayload(bytes: [1, 2, 3]))
        let routing = RoutingID(node: 7, check: 9)
        for (number, wake) in zip(UInt32(1)..., wakes) {
            let tunnel = TunnelID.numbered(UInt8(number))
            #expect(
                wake == ContactWakeUp(number: number, routing: routing, tunnel: tunnel, payload: payload, seconds: 120)
            )
        }
        let lines = head.split(separator: "\r\n").map(String.init)
        #expect(lines.first == "GET /cable/listen/\(Self.key.publicKey.contactID.base64URL) HTTP/1.1")
        #expect(lines.contains("Sec-WebSocket-Protocol: hybrid-relay.listen.v1"))
        #expect(lines.contains("Authorization: Bearer token"))
        #expect(!head.lowercased().contains("x-cable"))
    }

    @Test("A relay that breaks the protocol before the confirmation is not listened to")
    func hostileOpening() async throws {
        let wake = Self.frame(try Self.wake(1))
        let cases: [(String, [UInt8])] = [
            ("a wake-up instead of a challenge", wake), ("no challenge", Self.frame(.ok)),
            ("a text", Wire.frame([65], opcode: Wire.text)),
            ("no CBOR", Wire.frame([0xFF])), ("an empty message", Wire.frame([])),
            ("a long message", Wire.frame([UInt8](repeating: 0, count: 2000))),
            ("a second challenge", Self.hello + Self.hello), ("a wake-up before the confirmation", Self.hello + wake),
            ("the phone's own message", Self.frame(.decline(number: 1))),
            ("an interval of ten minutes", try Self.frame(.hello(#require(Self.challenge), pingSeconds: 600))),
        ]
        for (name, frames) in cases {
            let failure = try await Self.failure(frames) { _ in Issue.record("\(name)") }
            #expect(failure?.isMisbehavior == true, "\(name): \(String(describing: failure))")
        }
    }

    @Test("A relay that sends anything but a wake-up later violates the protocol")
    func hostileMessages() async throws {
        let ok = Self.hello + Self.frame(.ok)
        for (name, frame) in [
            ("a second confirmation", Self.frame(.ok)), ("a challenge", Self.hello), ("no CBOR", Wire.frame([0xFF])),
            ("the phone's own message", Self.frame(.decline(number: 1))),
        ] {
            let failure = try await Self.failure(ok + frame) { _ = try await $0.next() }
            #expect(failure?.isMisbehavior == true, "\(name): \(String(describing: failure))")
        }
        for code: UInt16 in [1012, 1008, 1000] {
            let failure = try await Self.failure(ok + Wire.closeFrame(code)) { _ = try await $0.next() }
            #expect(failure == .closed(code: code))
        }
    }

    @Test("A relay that is silent before the confirmation times out", arguments: [false, true])
    func silentOpening(saysHello: Bool) async throws {
        let host = try #require(TestCertificates.domain?.host)
        let failure = try await Self.failure(saysHello ? Self.hello : [], openTimeout: 1) { _ in
            Issue.record("it listens")
        }
        #expect(failure?.bare == .network(.timedOut(host: host, .upgrading)))
    }

    @Test("A connection is dead when nothing arrives for two intervals of pings")
    func silence() async throws {
        let ok = try Self.frame(.hello(#require(Self.challenge), pingSeconds: 1)) + Self.frame(.ok)
        let failure = try await Self.failure(ok) { _ = try await $0.next() }
        #expect(failure == .relaySilent)
    }

    @Test("Pings are answered and keep the connection alive")
    func pings() async throws {
        for attempt in 1... {
            let pauses = Locked(Pauses())
            do {
                return try await pings(pauses)
            } catch let error as TunnelError where error == .relaySilent {
                // A machine that is too busy to send a ping in time shows nothing.
                guard attempt < 5, pauses.withLock({ $0.end() }) > .seconds(5) else { throw error }
            }
        }
    }

    /// The pauses between pings.
    private struct Pauses {
        private var last = ContinuousClock.now
        private var longest = Duration.zero

        /// Ends a pause; returns the longest one.
        @discardableResult
        mutating func end() -> Duration {
            let now = ContinuousClock.now
            longest = max(longest, now - last)
            last = now
            return longest
        }
    }

    /// Sends pings for longer than the time without data that is tolerated, which is 6 s.
    private func pings(_ pauses: Locked<Pauses>) async throws {
        let (alive, wake) = try await ScriptedRelay.run { peer in
            let hello = try Self.frame(.hello(#require(Self.challenge), pingSeconds: 6))
            try await peer.open(ListenMessage.subprotocol, then: hello)
            _ = try await peer.readMessage()
            try await peer.send(Self.frame(.ok))
            let start = ContinuousClock.now
            while .now - start < .milliseconds(6_500) {
                pauses.withLock { _ = $0.end() }
                try await peer.send(Wire.frame([7], opcode: Wire.ping))
                #expect(try await peer.readFrame().opcode == Wire.pong)
                try await Task.sleep(for: .milliseconds(50))
            }
            try await peer.send(Self.frame(Self.wake(3)))
            return try await peer.finish()
        } client: { endpoint in
            try await ContactListener.withListener(Self.key, at: endpoint, bearerToken: nil, grace: .zero) {
                try await $0.next()
            }
        }
        #expect(alive == 1000)
        #expect(wake.number == 3)
    }

    @Test("Refusals have their own errors, and another sub-protocol is one")
    func refusals() async throws {
        for (status, expected) in [
            (404, TunnelError.listeningNotOffered), (401, .network(.notAuthorized)), (429, .network(.relayBusy)),
            (503, .network(.relayBusy)),
            (410, .network(.refused(status: 410))),
        ] {
            let (_, refusal) = try await ScriptedRelay.run { peer in
                _ = try await peer.readHead()
                try await peer.send(Array("HTTP/1.1 \(status) Text\r\nContent-Length: 0\r\n\r\n".utf8))
                await peer.readToEnd()
            } client: {
                await Client.refusal(at: $0, .listen(Self.key.publicKey.contactID))
            }
            #expect(refusal == expected)
        }
        for subprotocol in ["fido.cable", "hybrid-relay.listen.v2", "hybrid-relay.listen.v1, fido.cable"] {
            let (_, refusal) = try await ScriptedRelay.run { peer in
                try await peer.open(subprotocol)
                await peer.readToEnd()
            } client: {
                await Client.refusal(at: $0, .listen(Self.key.publicKey.contactID))
            }
            #expect(refusal?.isMisbehavior == true, "\(subprotocol)")
        }
    }

    // MARK: Helpers

    private struct Unexpected: Error {}

    /// Returns the error of a listener after these frames of the relay, which also reads the phone's proof.
    private static func failure(
        _ frames: [UInt8],
        openTimeout: Int = 15,
        _ body: @escaping @Sendable (ContactListener) async throws -> Void
    ) async throws -> TunnelError? {
        try await ScriptedRelay.run { peer in
            try await peer.open(ListenMessage.subprotocol, then: frames)
            await peer.closeWhenAsked()
        } client: { endpoint in
            var endpoint = endpoint
            endpoint.network.timeouts.open = openTimeout
            do {
                // A listener that does not notice its end would wait for ever.
                try await withThrowingTaskGroup(of: Void.self) { [endpoint] group in
                    group.addTask {
                        try await ContactListener.withListener(
                            key,
                            at: endpoint,
                            bearerToken: nil,
                            grace: .zero,
                            body
                        )
                    }
                    group.addTask { try await Task.sleep(for: .seconds(30)) }
                    try await group.next()
                    group.cancelAll()
                }
                return nil
            } catch {
                return error as? TunnelError
            }
        }.outcome
    }
}

extension Peer {
    /// Reads the next message of a listening phone.
    fileprivate func readMessage() async throws -> ListenMessage {
        try ListenMessage(parsing: try await readFrame().payload)
    }
}
