// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridThreads
import IntegrationTestSupport
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Clients that contact phones", .timeLimit(.minutes(10)))
struct ContactTests {
    private let phone = LinkedPhone()

    /// The event loops of the phone's connection, of the client and of the phone in the tunnel.
    private static let places = (0..<8).map { [$0 & 1, $0 >> 1 & 1, $0 >> 2] }

    @Test("reach a phone that listens, on whichever loops the connections are", arguments: places)
    func ringing(loops: [Int]) throws {
        let relay = try HandDrivenRelay(loops: 2)
        let listener = try relay.listener(phone, onLoop: loops[0])
        let early = Wire.frame([5, 6])
        let client = try relay.contact(phone, onLoop: loops[1], signals: "true", glued: early)
        let head = try #require(client.takeHead(), "the relay responds before the phone has joined")
        #expect(head.hasPrefix("HTTP/1.1 101 ") && head.contains("\r\nX-caBLE-Signal-Connection: true\r\n"))
        #expect(head.contains("\r\nSec-WebSocket-Protocol: fido.cable\r\n") && !head.contains("Routing-ID"))
        let wakeUp = try listener.takeWakeUp()
        #expect(wakeUp.payload == [0xA1, 0xB2] && wakeUp.seconds == 120 && wakeUp.routing.hasPrefix("00ab"))
        #expect(client.takeFrames() == [])
        let (joined, response) = try relay.client(
            wakeUp.routing,
            onLoop: loops[2],
            tunnel: wakeUp.tunnel,
            glued: Wire.frame([7])
        )
        #expect(response.hasPrefix("HTTP/1.1 101 ") && !response.contains("Signal-Connection"))
        // The signal precedes the phone's data, and the client's early data is not lost.
        #expect(client.takeFrames().map(\.payload) == [[0], [7]])
        #expect(joined.takeFrames().map(\.payload) == [[5, 6]])
        try client.send(Wire.frame([8]))
        try joined.send(Wire.frame([9]) + Wire.closeFrame(1000))
        try relay.settle()
        #expect(joined.takeFrames().map(\.payload) == [[8], [0x03, 0xE8]])
        #expect(client.takeFrames().map(\.payload) == [[9], [0x03, 0xE8]])
        #expect(listener.takeFrames() == [] && !listener.hasEnded, "the phone keeps listening")
        try relay.expectEmpty(afterClosing: [listener, client, joined])
    }

    @Test("get the signal only if they ask for it", arguments: [nil, "false", "1"])
    func withoutSignal(value: String?) throws {
        let relay = try HandDrivenRelay()
        let listener = try relay.listener(phone)
        let client = try relay.contact(phone, signals: value)
        #expect(client.takeHead()?.contains("Signal-Connection") == false)
        let wakeUp = try listener.takeWakeUp()
        let (joined, _) = try relay.client(wakeUp.routing, tunnel: wakeUp.tunnel)
        try joined.send(Wire.frame([7]))
        try relay.settle()
        #expect(client.takeFrames().map(\.payload) == [[7]])
        try relay.expectEmpty(afterClosing: [listener, client, joined])
    }

    @Test("wait for a phone that connects meanwhile, and lose nothing that they send", arguments: places)
    func held(loops: [Int]) throws {
        let relay = try HandDrivenRelay(loops: 2)
        let client = try relay.contact(phone, onLoop: loops[1], signals: "TRUE", glued: Wire.frame([1]))
        try client.send(Wire.frame([2]))
        try relay.advance(by: .seconds(7))
        #expect(client.received.isEmpty, "no response before the phone is there")
        let listener = try relay.listener(phone, onLoop: loops[0])
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        let wakeUp = try listener.takeWakeUp()
        #expect(wakeUp.seconds == 113)
        let (joined, _) = try relay.client(wakeUp.routing, onLoop: loops[2], tunnel: wakeUp.tunnel)
        try client.send(Wire.frame([3]))
        try relay.settle()
        #expect(client.takeFrames().map(\.payload) == [[0]])
        #expect(joined.takeFrames().map(\.payload) == [[1], [2], [3]])
        try relay.expectEmpty(afterClosing: [listener, client, joined])
    }

    @Test("get 404 after eight seconds without the phone, and leave before that at any time")
    func unreachable() throws {
        let relay = try HandDrivenRelay()
        let (client, leaving) = (try relay.contact(phone), try relay.contact(phone))
        try relay.advance(by: .milliseconds(7900))
        #expect(client.received.isEmpty)
        leaving.close()
        try relay.settle()
        #expect(relay.connections == 1)
        try relay.advance(by: .milliseconds(200))
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 404 ") == true)
        #expect(String(decoding: client.readToEnd(), as: UTF8.self) == "the phone is not connected\n")
        try relay.expectEmpty(afterClosing: [client])
    }

    @Test("learn that the phone declines, and no other phone can decline for it")
    func declined() throws {
        let relay = try HandDrivenRelay(loops: 2)
        let other = LinkedPhone()
        let (listener, stranger) = (try relay.listener(phone), try relay.listener(other, onLoop: 1))
        let client = try relay.contact(phone, onLoop: 1)
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        let wakeUp = try listener.takeWakeUp()
        try stranger.send(LinkedPhone.frame(.decline(number: wakeUp.number)))
        try listener.send(LinkedPhone.frame(.decline(number: wakeUp.number + 1)))
        try relay.settle()
        #expect(client.takeFrames() == [])
        try listener.send(LinkedPhone.frame(.decline(number: wakeUp.number)))
        try relay.settle()
        #expect(client.takeFrames().map(\.closeCode) == [1013])
        let (late, head) = try relay.client(wakeUp.routing, tunnel: wakeUp.tunnel)
        #expect(head.hasPrefix("HTTP/1.1 404 "))
        #expect(!listener.hasEnded && !stranger.hasEnded)
        try relay.expectEmpty(afterClosing: [listener, stranger, client, late])
    }

    @Test("learn that the phone declines even if it is faster than their response")
    func declinedAtOnce() throws {
        let relay = try HandDrivenRelay()
        let listener = try relay.listener(phone)
        let client = try relay.connect()
        try relay.settle()
        try client.send(phone.contactRequest())
        // One turn wakes the phone; the order to respond waits in the mailbox.
        relay.turn(0)
        _ = try listener.pump()
        try listener.send(LinkedPhone.frame(.decline(number: try listener.takeWakeUp().number)))
        try relay.settle()
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        #expect(client.takeFrames().map(\.closeCode) == [1013])
        try relay.expectEmpty(afterClosing: [listener, client])
    }

    @Test("wait for the phone as long as a phone waits for its client")
    func unanswered() throws {
        let relay = try HandDrivenRelay()
        let listener = try relay.listener(phone)
        let client = try relay.contact(phone)
        for _ in 0..<12 {
            try relay.advance(by: .seconds(10))
            for end in [listener, client] { try end.send(Wire.frame([], opcode: Wire.pong)) }
        }
        try relay.settle()
        #expect(client.takeHead() != nil)
        #expect(client.takeFrames().last?.closeCode == 1008)
        try relay.expectEmpty(afterClosing: [listener, client])
    }

    @Test("cannot be joined before the phone has been woken, or twice")
    func joins() throws {
        let relay = try HandDrivenRelay()
        let client = try relay.contact(phone)
        let key = try #require(relay.loops[0].connection(ConnectionID(slot: 0, generation: 0))?.tunnelEnd?.key)
        let (guess, refusal) = try relay.client(key.routing.hex, tunnel: key.tunnel.hex)
        #expect(refusal.hasPrefix("HTTP/1.1 404 ") && client.received.isEmpty)
        let listener = try relay.listener(phone)
        let wakeUp = try listener.takeWakeUp()
        let (joined, head) = try relay.client(wakeUp.routing, tunnel: wakeUp.tunnel)
        #expect(head.hasPrefix("HTTP/1.1 101 "))
        let (second, again) = try relay.client(wakeUp.routing, tunnel: wakeUp.tunnel)
        #expect(again.hasPrefix("HTTP/1.1 404 "))
        try relay.expectEmpty(afterClosing: [client, guess, listener, joined, second])
    }

    @Test("are refused with 429 beyond three requests at once, and with 503 beyond the limit on held ones")
    func limits() throws {
        let relay = try HandDrivenRelay { $0.heldContacts = 2 }
        let listener = try relay.listener(phone)
        let clients = try (0..<4).map { _ in try relay.contact(phone) }
        for client in clients.prefix(3) { #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true) }
        let refusal = try #require(clients[3].takeHead())
        #expect(refusal.hasPrefix("HTTP/1.1 429 ") && refusal.contains("\r\nRetry-After: 10\r\n"))
        #expect(listener.takeFrames().count == 3)
        let held = try (0..<3).map { _ in try relay.contact(LinkedPhone()) }
        #expect(held[0].received.isEmpty && held[1].received.isEmpty)
        #expect(held[2].takeHead()?.hasPrefix("HTTP/1.1 503 ") == true)
        try relay.expectEmpty(afterClosing: [listener] + clients + held)
    }

    @Test("need a payload of 1 to 256 bytes, and a contact ID of a phone at this relay")
    func malformed() throws {
        let relay = try HandDrivenRelay()
        func status(_ request: [UInt8]) throws -> String? {
            let end = try relay.connect()
            try end.send(request)
            try relay.settle()
            return end.takeHead().map { String($0.prefix(12).suffix(3)) }
        }
        for payload in [nil, "", "a", "zz", String(repeating: "00", count: 257), "A1 b2"] {
            #expect(try status(phone.contactRequest(payload: payload)) == "400", "\(payload ?? "none")")
        }
        let bytes = phone.contact.bytes
        for other in [[2] + bytes.dropFirst(), bytes + [0], bytes.dropLast(), [0x10, 0x20]] as [[UInt8]] {
            let id = try #require(ContactID(bytes: other)).base64URL
            for path in ["contact", "listen"] {
                let request = (path == "listen" ? phone.listenRequest() : phone.contactRequest())
                let text = String(decoding: request, as: UTF8.self).replacing(phone.contact.base64URL, with: id)
                #expect(try status(Array(text.utf8)) == "404", "\(path) \(other)")
            }
        }
        #expect(try status(phone.contactRequest(payload: String(repeating: "fF", count: 256))) == nil, "held")
    }

    @Test("are not offered by a relay without a contact host")
    func notOffered() throws {
        let relay = try HandDrivenRelay(contactHost: nil)
        for request in [phone.listenRequest(), phone.contactRequest()] {
            let end = try relay.connect()
            try end.send(request)
            try relay.settle()
            #expect(end.takeHead()?.hasPrefix("HTTP/1.1 404 ") == true)
            #expect(String(decoding: end.received, as: UTF8.self) == "linked phones are not offered here\n")
            try relay.expectEmpty(afterClosing: [end])
        }
    }

    @Test("reach their phones when both connect at any time, over TCP and on several loops")
    func overTCP() async throws {
        let limits = RelayLimits.testing { $0.listenersPerMinute = 0 }
        let offering: (inout RelayConfiguration) -> Void = { $0.contactHost = LinkedPhone.host }
        try await RunningRelay.run(limits: limits, loops: 2, configure: offering) { relay in
            let (server, address) = (relay.server, relay.address)
            let seed = SeededGenerator().seed
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        try await DedicatedThread.run { () throws(any Error) in
                            var random = SeededGenerator(seed: seed &+ UInt64(worker))
                            for _ in 0..<Thoroughness.rounds(20, thorough: 1_000) {
                                try ScriptedContact(at: address).run(&random)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await Waiting.until("all connections to be closed") { server.connections == 0 }
        }
    }

    @Test("send no more than a phone that waits before the phone has joined")
    func early() throws {
        let relay = try HandDrivenRelay { $0.earlyBytes = 4000 }
        let listener = try relay.listener(phone)
        let client = try relay.contact(phone)
        let message = [UInt8](repeating: 1, count: 100)
        let flood = (0..<2000).flatMap { _ in Wire.frame(message) }
        #expect(try relay.flood(client, flood) < flood.count)
        #expect(relay.bufferedBytes < 300_000)
        let wakeUp = try listener.takeWakeUp()
        let (joined, _) = try relay.client(wakeUp.routing, tunnel: wakeUp.tunnel)
        try relay.settle()
        #expect(joined.takeFrames().map(\.payload) == Array(repeating: message, count: 2000))
        try relay.expectEmpty(afterClosing: [listener, client, joined])
    }
}
