// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Contacts for which a load balancer asks node after node", .timeLimit(.minutes(10)))
struct PeekTests {
    private let phone = LinkedPhone()

    /// A relay that trusts the PROXY headers of 192.0.2.1.
    private func relay(
        push: PushGateway? = nil,
        limits: (inout RelayLimits) -> Void = { _ in }
    ) throws -> HandDrivenRelay {
        try HandDrivenRelay(balancers: [try AddressBlock(parsing: "192.0.2.1")], push: push, limits: limits)
    }

    /// Sends a request through the load balancer.
    private func send(_ request: [UInt8], to relay: HandDrivenRelay) throws -> WireEnd {
        let end = try relay.connect(from: try SocketAddress(ipAddress: "192.0.2.1", port: 1))
        try end.send(Array("PROXY TCP4 198.51.100.1 203.0.113.9 40000 443\r\n".utf8) + request)
        try relay.settle()
        return end
    }

    private func peek(_ relay: HandDrivenRelay, _ payload: String = "a1b2") throws -> WireEnd {
        try send(phone.contactRequest(payload: payload, adding: ["X-Hybrid-Peek: 1"]), to: relay)
    }

    @Test("get 504 at once from a node without the phone, and wait for it when they return")
    func missed() throws {
        let relay = try relay()
        let first = try peek(relay)
        #expect(first.takeHead()?.hasPrefix("HTTP/1.1 504 ") == true)
        #expect(String(decoding: first.readToEnd(), as: UTF8.self) == "the phone does not listen at this node\n")
        #expect(relay.context.registry.counts.wakeUps == 0)
        let second = try peek(relay)
        #expect(second.received.isEmpty && relay.context.registry.counts.held == 1)
        let listener = try relay.listener(phone)
        #expect(second.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        #expect(try listener.takeWakeUp().payload == [0xA1, 0xB2])
        #expect(try listener.takeListenMessage() == nil, "one wake-up for both requests")
        try relay.expectEmpty(afterClosing: [first, second, listener])
    }

    @Test("wake a phone that listens, without a 504")
    func met() throws {
        let relay = try relay()
        let listener = try relay.listener(phone)
        let client = try peek(relay)
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        #expect(try listener.takeWakeUp().payload == [0xA1, 0xB2])
        try relay.expectEmpty(afterClosing: [client, listener])
    }

    @Test("get 504 any number of times, one for each contact")
    func uncounted() throws {
        let relay = try relay()
        for number in 0..<20 {
            let end = try peek(relay, "a0\(number + 10)")
            #expect(end.takeHead()?.hasPrefix("HTTP/1.1 504 ") == true, "\(number)")
            end.close()
            try relay.settle()
        }
        let waiting = try relay.contact(phone)
        #expect(waiting.received.isEmpty, "a contact without the field waits at once")
        try relay.expectEmpty(afterClosing: [waiting])
    }

    @Test(
        "are a matter of load balancers: from other peers, a contact waits and counts at once",
        arguments: [nil, "198.51.100.2"] as [String?]
    )
    func fromClients(address: String?) throws {
        let relay = try relay { $0.wakeUpBurst = 2 }
        let source = try address.map { try SocketAddress(ipAddress: $0, port: 1) }
        var ends: [WireEnd] = []
        for payload in ["01", "02", "03"] {
            let end = try relay.connect(from: source)
            try end.send(phone.contactRequest(payload: payload, adding: ["X-Hybrid-Peek: 1", "X-Hybrid-Peek: 2"]))
            try relay.settle()
            ends.append(end)
        }
        #expect(ends[0].received.isEmpty && ends[1].received.isEmpty && relay.context.registry.counts.held == 2)
        #expect(ends[2].takeHead()?.hasPrefix("HTTP/1.1 429 ") == true, "the phone's limit")
        try relay.expectEmpty(afterClosing: ends)
    }

    @Test("do not count, but the contacts that wait after them do")
    func counted() throws {
        let relay = try relay { $0.wakeUpBurst = 1 }
        let ends = try ["01", "01", "02", "02"].map { try peek(relay, $0) }
        let statuses = ends.map { end in end.takeHead().map { $0.prefix(12) } }
        #expect(statuses == ["HTTP/1.1 504", nil, "HTTP/1.1 504", "HTTP/1.1 429"])
        try relay.expectEmpty(afterClosing: ends)
    }

    @Test("wake a phone with a push subscription at once, because each node would send a message")
    func pushed() async throws {
        let transport = ScriptedPushTransport(response: .status(201))
        let gateway = try PushGateway.testing(transport)
        let relay = try relay(push: gateway)
        let subscription = try #require(PushReceiverKey().subscription(endpoint: "https://push.example/up"))
        let contact = try #require(gateway.contact(of: subscription)).id
        let fields = ["x-cable-client-payload: a1b2", "X-Hybrid-Peek: 1"]
        let line = "GET /cable/contact/\(contact.base64URL) HTTP/1.1"
        let client = try send(UpgradeRequestTests.head(["GET": line], adding: fields), to: relay)
        try await Waiting.until("the response") {
            try relay.settle()
            return !client.received.isEmpty
        }
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        #expect(transport.requests.count == 1)
        try relay.expectEmpty(afterClosing: [client])
    }

    @Test("learn that the phone has revoked its contact ID")
    func revoked() throws {
        let relay = try relay()
        let listener = try relay.listener(phone)
        try listener.send(phone.revocation())
        try relay.settle()
        let client = try peek(relay)
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 410 ") == true)
        try relay.expectEmpty(afterClosing: [client, listener])
    }

    @Test("get 504 twice if the load balancer has only this node")
    func twice() throws {
        let contact = try ContactTableUnderTest.contact(1)
        var peeks = ContactPeeks()
        let now = ContactTableUnderTest.start
        let answers = (0..<4).map { _ in peeks.answersAtOnce(contact, payload: 1, times: 2, now: now) }
        #expect(answers == [true, true, false, true])
    }

    @Test("are remembered for some seconds, and only so many of them")
    func memory() throws {
        let contact = try ContactTableUnderTest.contact(1)
        let other = try ContactTableUnderTest.contact(2)
        var peeks = ContactPeeks()
        var now = ContactTableUnderTest.start
        let answers = [contact, other, contact, contact].map { peeks.answersAtOnce($0, payload: 1, now: now) }
        #expect(answers == [true, true, false, true], "the last one is the next attempt of the client")
        now = now + .seconds(4)
        let later = [1, 2].map { peeks.answersAtOnce(contact, payload: $0, now: now) }
        #expect(later == [false, true])
        now = now + .seconds(11)
        let forgotten = peeks.answersAtOnce(contact, payload: 2, now: now)
        #expect(forgotten)
        for payload in 0..<100_000 {
            _ = peeks.answersAtOnce(contact, payload: payload, now: now)
            #expect(peeks.count <= ContactPeeks.capacity)
        }
        let last = [99_999, 3].map { peeks.answersAtOnce(contact, payload: $0, now: now) }
        #expect(last == [false, true], "older ones are displaced by later ones")
    }
}
