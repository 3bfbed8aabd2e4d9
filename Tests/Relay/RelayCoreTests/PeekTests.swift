// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Contacts for which a load balancer asks node after node", .timeLimit(.minutes(10)))
struct PeekTests {
    private let phone = LinkedPhone()

    private func peek(_ relay: HandDrivenRelay, _ payload: String = "a1b2") throws -> WireEnd {
        let end = try relay.connect(onLoop: 0)
        try end.send(phone.contactRequest(payload: payload, adding: ["X-Hybrid-Peek: 1"]))
        try relay.settle()
        return end
    }

    @Test("get 504 at once from a node without the phone, and wait for it when they return")
    func missed() throws {
        let relay = try HandDrivenRelay()
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
        let relay = try HandDrivenRelay()
        let listener = try relay.listener(phone)
        let client = try peek(relay)
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        #expect(try listener.takeWakeUp().payload == [0xA1, 0xB2])
        try relay.expectEmpty(afterClosing: [client, listener])
    }

    @Test("do not count as wake-ups of the phone, and other contacts get their own 504")
    func uncounted() throws {
        let relay = try HandDrivenRelay()
        var ends: [WireEnd] = []
        for number in 0..<20 {
            let end = try peek(relay, "a0\(number + 10)")
            #expect(end.takeHead()?.hasPrefix("HTTP/1.1 504 ") == true, "\(number)")
            ends.append(end)
        }
        let waiting = try relay.contact(phone)
        #expect(waiting.received.isEmpty, "a contact without the header waits at once")
        try relay.expectEmpty(afterClosing: ends + [waiting])
    }

    @Test("learn that the phone has revoked its contact ID")
    func revoked() throws {
        let relay = try HandDrivenRelay()
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
