// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import HybridThreads
import IntegrationTestSupport
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Phones with a push subscription", .timeLimit(.minutes(10)))
struct PushTests {
    private static let endpoint = "https://push.example/up?token=0123456789"

    /// A relay with a scripted push server, and a phone with the keys of a subscription.
    private struct Environment {
        let transport: ScriptedPushTransport
        let gateway: PushGateway
        let relay: HandDrivenRelay
        let key = PushReceiverKey()
        let subscription: PushSubscription

        init(response: PushResponse? = nil, limits: (inout RelayLimits) -> Void = { _ in }) throws {
            transport = ScriptedPushTransport(response: response)
            gateway = try .testing(transport)
            relay = try HandDrivenRelay(push: gateway, limits: limits)
            subscription = try #require(key.subscription(endpoint: PushTests.endpoint))
        }

        func listener() throws -> WireEnd { try relay.listener(LinkedPhone()) }

        func send(_ message: ListenMessage, from end: WireEnd) throws {
            try end.send(LinkedPhone.frame(message))
            try relay.settle()
        }

        /// Connects a client that contacts a push contact ID.
        func contact(_ contact: ContactID, glued: [UInt8] = []) throws -> WireEnd {
            let end = try relay.connect()
            try end.send(
                UpgradeRequestTests.head(
                    ["GET": "GET /cable/contact/\(contact.base64URL) HTTP/1.1"],
                    adding: ["x-cable-client-payload: A1b2", "X-caBLE-Signal-Connection: true"]
                ) + glued
            )
            try relay.settle()
            return end
        }

        /// The relay's contact ID for the subscription, without a proof.
        func contactID() throws -> ContactID { try #require(gateway.contact(of: subscription)).id }

        /// Waits for the response to a client.
        ///
        /// The registry changes before the event loop gets its instruction, so its counts do not tell when to look.
        func head(of client: WireEnd) async throws -> String {
            var head: String?
            try await settle("a response") {
                head = client.takeHead()
                return head != nil
            }
            return try #require(head)
        }

        /// Waits for the result of a message, and lets the event loop handle it.
        func settle(_ description: String, _ isDone: () throws -> Bool) async throws {
            try await Waiting.until(description) {
                try relay.settle()
                return try isDone()
            }
        }
    }

    @Test("The proof of a subscription results in a contact ID, which the relay alone can open")
    func seals() async throws {
        let environment = try Environment()
        let phone = try environment.listener()
        try environment.send(.vapidRequest, from: phone)
        #expect(try phone.takeListenMessage() == .vapid(environment.gateway.publicKey))
        try environment.send(.seal(environment.subscription), from: phone)
        let request = try await environment.transport.request(0)
        #expect(request.endpoint == Self.endpoint)
        let fields = Dictionary(request.fields) { first, _ in first }
        #expect(fields["TTL"] == "60" && fields["Urgency"] == "high" && fields["Content-Encoding"] == "aes128gcm")
        #expect(fields["Topic"]?.utf8.count == 32 && fields["Authorization"]?.hasPrefix("vapid t=") == true)
        guard case .proof(let nonce) = try environment.key.open(request.body) else {
            Issue.record("the push contains a nonce")
            return
        }
        // Another nonce is ignored, and the push server's response is not needed.
        var generator = SystemRandomNumberGenerator()
        try environment.send(.proof(PushNonce(using: &generator)), from: phone)
        #expect(try phone.takeListenMessage() == nil)
        try environment.send(.proof(nonce), from: phone)
        guard case .sealed(let contact, let expiry) = try phone.takeListenMessage() else {
            Issue.record("the phone gets a contact ID")
            return
        }
        #expect(contact.bytes.count <= ContactID.maximumPushLength && expiry == 1_800_000_000 + 400 * 86_400)
        #expect(environment.gateway.subscription(of: contact) == environment.subscription)
        #expect(try PushGateway.testing(environment.transport).subscription(of: contact) == nil, "other keys")
        environment.transport.answer(0, .status(201))
        try environment.send(.proof(nonce), from: phone)
        #expect(try phone.takeListenMessage() == nil, "a nonce counts once")
        try environment.relay.expectEmpty(afterClosing: [phone])
    }

    @Test("The client gets its response when the push server has accepted the wake-up, and the phone joins")
    func wakes() async throws {
        let environment = try Environment()
        let client = try environment.contact(try environment.contactID())
        let request = try await environment.transport.request(0)
        #expect(client.takeHead() == nil, "the push server has not answered")
        #expect(environment.relay.context.registry.counts.held == 1)
        environment.transport.answer(0, .status(201))
        let head = try await environment.head(of: client)
        #expect(head.hasPrefix("HTTP/1.1 101 "))
        let (routing, tunnel) = try Self.wake(request, environment)
        let (phone, response) = try environment.relay.client(routing, tunnel: tunnel, glued: Wire.frame([7]))
        #expect(response.hasPrefix("HTTP/1.1 101 "))
        #expect(client.takeFrames().map(\.payload) == [[0], [7]])
        try environment.relay.expectEmpty(afterClosing: [client, phone])
    }

    @Test("A phone may join before the push server has answered, whatever it answers then")
    func joinsEarly() async throws {
        for late in [PushResponse.status(201), .status(410), .failed] {
            let environment = try Environment()
            let client = try environment.contact(try environment.contactID(), glued: Wire.frame([7]))
            let request = try await environment.transport.request(0)
            let (routing, tunnel) = try Self.wake(request, environment)
            let (phone, response) = try environment.relay.client(routing, tunnel: tunnel)
            #expect(response.hasPrefix("HTTP/1.1 101 ") && phone.takeFrames().map(\.payload) == [[7]])
            #expect(try #require(client.takeHead()).hasPrefix("HTTP/1.1 101 "))
            // The answer arrives on another thread; this is the same call, at a known time.
            let key = TunnelIdentity(
                routing: try #require(RoutingID(hex: routing)),
                tunnel: try #require(TunnelID(hex: tunnel))
            )
            environment.relay.context.registry.recordPush(key, PushOutcome(late))
            environment.transport.answer(0, late)
            try client.send(Wire.frame([8]))
            try environment.relay.settle()
            #expect(phone.takeFrames().map(\.payload) == [[8]])
            try environment.relay.expectEmpty(afterClosing: [client, phone])
        }
    }

    @Test(
        "The push server's refusals",
        arguments: [
            (PushResponse.status(404), 410), (.status(410), 410), (.status(400), 404), (.status(302), 404),
            (.status(413), 404), (.status(429), 502), (.status(500), 502), (.failed, 502), (.notPermitted, 404),
        ]
    )
    func refusals(response: PushResponse, status: Int) async throws {
        let environment = try Environment(response: response)
        let client = try environment.contact(try environment.contactID())
        let head = try await environment.head(of: client)
        #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(head)")
        #expect(!head.contains(TunnelPath.contactGoneHeader))
        try environment.relay.expectEmpty(afterClosing: [client])
    }

    @Test("Contact IDs that are changed, expired, or of another relay are not found, and nothing is pushed")
    func foreign() async throws {
        let environment = try Environment(response: .status(201))
        let contact = try environment.contactID()
        var changed = contact.bytes
        changed[changed.count - 1] ^= 1
        let old = try PushGateway.testing(environment.transport)
        for id in [ContactID(bytes: changed), old.contact(of: environment.subscription)?.id, ContactID(bytes: [2])] {
            let client = try environment.contact(try #require(id))
            #expect(try #require(client.takeHead()).hasPrefix("HTTP/1.1 404 "))
            client.close()
        }
        let plain = try HandDrivenRelay()
        let client = try plain.connect()
        try client.send(
            UpgradeRequestTests.head(
                ["GET": "GET /cable/contact/\(contact.base64URL) HTTP/1.1"],
                adding: ["x-cable-client-payload: A1b2"]
            )
        )
        try plain.settle()
        #expect(try #require(client.takeHead()).hasPrefix("HTTP/1.1 404 "), "a relay without keys")
        #expect(environment.transport.requests.isEmpty)
    }

    @Test("A contact ID has the same rate limit as that of a phone that listens")
    func rate() async throws {
        let environment = try Environment(response: .status(201))
        let contact = try environment.contactID()
        var heads: [String] = []
        for _ in 1...4 {
            let client = try environment.contact(contact)
            heads.append(try await environment.head(of: client))
        }
        #expect(heads.map { $0.prefix(12) } == ["HTTP/1.1 101", "HTTP/1.1 101", "HTTP/1.1 101", "HTTP/1.1 429"])
    }

    @Test("Reasons for refusing a contact ID")
    func reasons() async throws {
        let environment = try Environment(response: .status(403)) { $0.pushesPerMinuteAndHost = 6 }
        func reason(_ endpoint: String) async throws -> ListenMessage? {
            let phone = try environment.listener()
            try environment.send(.seal(try #require(environment.key.subscription(endpoint: endpoint))), from: phone)
            var message: ListenMessage?
            try await environment.settle("a reason") {
                message = try phone.takeListenMessage()
                return message != nil
            }
            phone.close()
            return message
        }
        #expect(try await reason("https://other.example/") == .unsealed(.endpointNotAllowed))
        #expect(try await reason(Self.endpoint + String(repeating: "x", count: 300)) == .unsealed(.endpointTooLong))
        #expect(try await reason(Self.endpoint) == .unsealed(.pushServerRefused))
        #expect(try await reason(Self.endpoint) == .unsealed(.rateLimited), "the push server's limit")
        #expect(try await reason("https://push2.example/") == .unsealed(.pushServerRefused), "another push server")
        let plain = try HandDrivenRelay()
        let phone = try plain.listener(LinkedPhone())
        for message in [ListenMessage.vapidRequest, .seal(environment.subscription)] {
            try phone.send(LinkedPhone.frame(message))
            try plain.settle()
            #expect(try phone.takeListenMessage() == .unsealed(.notOffered))
        }
    }

    @Test("One request is pending at most, four are answered, and a proof that does not arrive in time counts no more")
    func requestLimits() async throws {
        // Before the next ping, at which everything is checked.
        let environment = try Environment { $0.pushProof = .seconds(10) }
        let phone = try environment.listener()
        for number in 0..<4 {
            try environment.send(.seal(environment.subscription), from: phone)
            let request = try await environment.transport.request(number)
            if number == 0 {
                try environment.send(.seal(environment.subscription), from: phone)
                #expect(try phone.takeListenMessage() == .unsealed(.rateLimited))
            }
            // A sweep without an event comes first.
            try environment.relay.advance(by: .seconds(1))
            try environment.relay.advance(by: .seconds(10))
            #expect(try phone.takeListenMessage() == .unsealed(.proofTimedOut))
            guard case .proof(let nonce) = try environment.key.open(request.body) else { throw WireEnd.Ended() }
            try environment.send(.proof(nonce), from: phone)
            #expect(try phone.takeListenMessage() == nil)
            environment.transport.answer(number, .status(201))
        }
        try environment.send(.seal(environment.subscription), from: phone)
        #expect(try phone.takeListenMessage() == .unsealed(.rateLimited))
        #expect(environment.transport.requests.count == 4)
    }

    @Test("A phone cannot request a contact ID before it has proven that it may listen")
    func unproven() throws {
        let environment = try Environment()
        let (phone, _) = try environment.relay.challenged(LinkedPhone())
        try environment.send(.seal(environment.subscription), from: phone)
        #expect(phone.takeFrame()?.payload == [0x03, 0xF0])
        #expect(environment.transport.requests.isEmpty)
    }

    @Test("A drain ends the messages on their way, whose clients get a response that no load balancer repeats")
    func drain() async throws {
        let environment = try Environment()
        let client = try environment.contact(try environment.contactID())
        _ = try await environment.transport.request(0)
        environment.gateway.drain()
        #expect(try await environment.head(of: client).hasPrefix("HTTP/1.1 502 "))
        let outcome = Locked<PushOutcome?>(nil)
        environment.gateway.send(
            .proof(try #require(PushNonce(bytes: 0..<32))),
            to: environment.subscription,
            topic: [],
            now: .now()
        ) { result in outcome.withLock { $0 = result } }
        #expect(outcome.withLock { $0 } == .canceled)
        #expect(environment.transport.waitingCount == 0)
    }

    @Test("At most 32 messages wait for one push server, and others are not affected")
    func hostLimit() async throws {
        let environment = try Environment { $0.pushesPerMinuteAndHost = 0 }
        let outcomes = Locked<[PushOutcome]>([])
        let proof = PushMessage.proof(try #require(PushNonce(bytes: 0..<32)))
        let wake = PushMessage.wake(
            try #require(RoutingID(hex: "000100")),
            try #require(TunnelID(hex: UpgradeRequestTests.tunnel)),
            try #require(ClientPayload(hexDigits: ArraySlice("a1b2".utf8))),
            seconds: 60
        )
        func send(_ endpoint: String, _ message: PushMessage = wake) throws {
            let subscription = try #require(environment.key.subscription(endpoint: endpoint))
            environment.gateway.send(message, to: subscription, topic: [], now: .now()) { outcome in
                outcomes.withLock { $0.append(outcome) }
            }
        }
        // Proofs take a quarter of the places, so wake-ups have at least the rest.
        for _ in 0..<9 { try send(Self.endpoint, proof) }
        #expect(outcomes.withLock { $0 } == [.limited])
        for _ in 0..<25 { try send(Self.endpoint) }
        #expect(outcomes.withLock { $0 } == [.limited, .limited])
        try send("https://push2.example/")
        try await Waiting.until("all requests") { environment.transport.waitingCount == 33 }
        environment.gateway.drain()
        try await Waiting.until("their end") { outcomes.withLock { $0.count } == 35 }
    }

    @Test("Proofs for any number of push servers, and the messages of one party, leave places to others")
    func shares() async throws {
        let environment = try Environment { $0.pushesPerMinuteAndHost = 0 }
        let refused = Locked(0)
        let proof = PushMessage.proof(try #require(PushNonce(bytes: 0..<32)))
        func send(_ number: Int, party: Int?) throws -> Bool {
            let subscription = try #require(environment.key.subscription(endpoint: "https://push\(number).example/"))
            let before = refused.withLock { $0 }
            environment.gateway.send(proof, to: subscription, topic: [], party: party, now: .now()) { outcome in
                if outcome == .limited { refused.withLock { $0 += 1 } }
            }
            return refused.withLock { $0 } == before
        }
        #expect(try (0..<20).count { try send($0, party: 1) } == 16, "a sixteenth of 256")
        #expect(try (20..<100).count { try send($0, party: nil) } == 48, "a quarter of 256, less 16")
        environment.gateway.drain()
    }

    @Test("A token is for one push server, and is used for at most twelve hours")
    func tokens() async throws {
        let now = Locked<UInt64>(1_800_000_000)
        let transport = ScriptedPushTransport(response: .status(201))
        let gateway = try PushGateway.testing(transport, clock: WallClock { now.withLock { $0 } })
        let message = PushMessage.proof(try #require(PushNonce(bytes: 0..<32)))
        /// Sends a message and returns the claims of its token (RFC 8292 §2).
        func claims(_ endpoint: String) async throws -> (audience: String?, expiry: UInt64) {
            let subscription = try #require(PushReceiverKey().subscription(endpoint: endpoint))
            let number = transport.requests.count
            gateway.send(message, to: subscription, topic: [], now: .now()) { _ in }
            let fields = Dictionary(try await transport.request(number).fields) { first, _ in first }
            let parts = (fields["Authorization"] ?? "").split(separator: ".")
            try #require(parts.count == 3)
            let claims = try JSONText(parsing: Base64URL.decode(String(parts[1]), maximumLength: 1000) ?? [])
            let expiry = claims.member("exp").flatMap { UInt64($0.description) }
            return (claims.member("aud")?.text, try #require(expiry))
        }
        let first = try await claims("https://push.example/1")
        #expect(first.audience == "https://push.example")
        #expect(try await claims("https://push2.example/2").audience == "https://push2.example")
        for (hours, isSame) in [(11, true), (1, false)] as [(UInt64, Bool)] {
            now.withLock { $0 += hours * 3600 }
            let (audience, expiry) = try await claims("https://push.example/1")
            #expect(audience == "https://push.example" && (expiry == first.expiry) == isSame)
            let time = now.withLock { $0 }
            #expect(expiry > time + 60 && expiry <= time + 24 * 3600)
        }
    }

    @Test(
        "Key files",
        arguments: [
            ("", "has no vapid key"), ("# only a comment\n", "has no vapid key"), ("vapid\n", "line 1"),
            ("vapid AAAA\n", "line 1"), ("\nother \(String(repeating: "A", count: 43))\n", "line 2"),
            ("vapid \(String(repeating: "A", count: 43))\n", "line 1"),
            ("contact 256 \(String(repeating: "A", count: 43))\n", "line 1"),
            ("contact 1 \(String(repeating: "A", count: 43))\n", "has no vapid key"),
            ("VAPID\n", "has no contact key"), ("VAPID\nVAPID\n", "line 2"),
            (
                "VAPID\ncontact 1 \(String(repeating: "A", count: 43))\ncontact 1 \(String(repeating: "B", count: 42))A\n",
                "or a number twice"
            ),
        ]
    )
    func keyFiles(text: String, reason: String) throws {
        let text = text.replacing("VAPID", with: "vapid " + String(repeating: "B", count: 42) + "A")
        let error = #expect(throws: PushKeys.ParseError.self) { try PushKeys(parsing: Array(text.utf8)) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    private static func wake(_ request: PushRequest, _ environment: Environment) throws -> (String, String) {
        guard case .wake(let routing, let tunnel, let payload, let seconds) = try environment.key.open(request.body)
        else { throw WireEnd.Ended() }
        #expect(payload.bytes == [0xA1, 0xB2] && seconds == 120)
        return (routing.hex, tunnel.hex)
    }
}
