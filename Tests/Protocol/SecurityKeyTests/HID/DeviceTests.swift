// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridPrimitives
import HybridSecurityKey
import TestSupport
import Testing

/// A device with two channels.
private struct TwoClients {
    var device: ObservedDevice
    let first: UInt32
    let second: UInt32

    init(supportsWink: Bool = false) throws {
        device = ObservedDevice(supportsWink: supportsWink)
        first = try #require(try device.open())
        second = try #require(try device.open())
    }

    /// Sends a message and returns the commands and payloads of the answers on its channel.
    mutating func send(_ channel: UInt32, _ command: UInt8, _ payload: [UInt8] = []) throws -> [[UInt8]] {
        let answers = try device.receive(ReferenceMessage(channel: channel, command: command, payload: payload))
        #expect(answers.allSatisfy { $0.channel == channel })
        return answers.map { [$0.command] + $0.payload }
    }

    /// Sends a CTAP2 command, which waits for its answer, and receives the first keepalive.
    mutating func request(_ channel: UInt32, _ payload: [UInt8] = [0x02]) throws -> TransactionID {
        #expect(try send(channel, 0x10, payload) == [])
        let first = try device.advance(by: .zero)
        #expect(first == [ReferenceMessage(channel: channel, command: 0x3B, payload: [1])])
        return try #require(device.pending[channel])
    }
}

@Suite("Channels and commands")
struct DeviceTests {
    @Test("a request is passed on, and its answer reaches its channel")
    func request() throws {
        var clients = try TwoClients()
        let transaction = try clients.request(clients.second, [0x02, 0xA0])
        #expect(clients.device.requests.map(\.command) == [[0x02, 0xA0]])
        let answers = try clients.device.answer(transaction, with: .failure(.noCredentials))
        #expect(answers == [ReferenceMessage(channel: clients.second, command: 0x10, payload: [0x2E])])
        #expect(try clients.device.answer(transaction, with: .success([])) == [], "a request has one answer")
    }

    @Test("a flood of PINGs is answered up to a budget, and requests are passed on meanwhile")
    func pingFlood() throws {
        var clients = try TwoClients()
        let payload = [UInt8](repeating: 7, count: 7609)
        var answered = 0
        for _ in 0..<100 { answered += try clients.send(clients.first, 0x01, payload).count }
        #expect(answered == 9)
        let transaction = try clients.request(clients.second, [0x02, 0xA0])
        #expect(try clients.device.answer(transaction, with: .failure(.noCredentials)).count == 1)
        _ = try clients.device.advance(by: .seconds(1))
        #expect(try clients.send(clients.first, 0x01, payload) == [[0x01] + payload])
    }

    @Test("a flood of commands that are answered at once is answered up to the budget, and later again")
    func commandFlood() throws {
        var clients = try TwoClients()
        let response = CTAPResponse.success([UInt8](repeating: 7, count: 200))
        var answered = 0
        for _ in 0..<1000 {
            #expect(try clients.send(clients.first, 0x10, [0x04]) == [])
            guard let transaction = clients.device.pending[clients.first] else { continue }
            answered += try clients.device.answer(transaction, with: response).count
        }
        // The response has 4 reports, and two were for INIT.
        #expect(answered == 322)
        _ = try clients.device.advance(by: .seconds(1))
        #expect(try clients.device.answer(try clients.request(clients.first, [0x04]), with: response).count == 1)
    }

    @Test("channels that are not allocated, 0 and broadcast are refused")
    func invalidChannels() throws {
        var clients = try TwoClients()
        for channel in [0, 3, 0x8000_0000, .max] as [UInt32] {
            #expect(try clients.send(channel, 0x01) == [[0x3F, 0x0B]])
            #expect(try clients.send(channel, 0x10, [0x04]) == [[0x3F, 0x0B]])
        }
        for channel in [0, 3] as [UInt32] {
            #expect(try clients.send(channel, 0x06, [UInt8](repeating: 0, count: 8)) == [[0x3F, 0x0B]])
        }
    }

    @Test("unknown commands, U2F messages and commands of devices are refused")
    func invalidCommands() throws {
        var clients = try TwoClients()
        for command in [0x00, 0x03, 0x05, 0x3B, 0x3F, 0x40, 0x7F] as [UInt8] {
            #expect(try clients.send(clients.first, command, [0]) == [[0x3F, 0x01]])
        }
    }

    @Test("lengths that do not fit the command are refused")
    func invalidLengths() throws {
        var clients = try TwoClients(supportsWink: true)
        for (command, length) in [(0x06, 7), (0x06, 9), (0x04, 0), (0x04, 2), (0x08, 1), (0x10, 0)] as [(UInt8, Int)] {
            let payload = [UInt8](repeating: 0, count: length)
            #expect(try clients.send(clients.first, command, payload) == [[0x3F, 0x03]], "command \(command)")
        }
        #expect(try clients.send(.max, 0x06, [1]) == [[0x3F, 0x03]])
    }

    @Test("a packet out of order ends its message")
    func sequence() throws {
        var clients = try TwoClients()
        let reports = ReferenceMessage(channel: 1, command: 0x01, payload: [UInt8](repeating: 1, count: 300)).reports
        for order in [[0, 2], [0, 1, 1], [0, 1, 3]] {
            for index in order.dropLast() { #expect(try clients.device.receive(reports[index]) == []) }
            let last = try #require(order.last)
            #expect(try clients.device.receive(reports[last]).map(\.payload) == [[0x04]])
            #expect(try clients.device.receive(reports[last]) == [], "packets without a message are ignored")
        }
    }

    @Test("a new message inside another one ends both", arguments: [0x01, 0x10, 0x11, 0x55] as [UInt8])
    func overlap(command: UInt8) throws {
        var clients = try TwoClients()
        let reports = ReferenceMessage(channel: 1, command: 0x01, payload: [UInt8](repeating: 1, count: 100)).reports
        #expect(try clients.device.receive(reports[0]) == [])
        #expect(try clients.send(1, command, [1]) == [[0x3F, 0x04]])
        #expect(try clients.device.receive(reports[1]) == [])
    }

    @Test("messages on two channels may interleave")
    func interleaved() throws {
        var clients = try TwoClients()
        let one = ReferenceMessage(channel: clients.first, command: 0x01, payload: [UInt8](repeating: 1, count: 400))
        let other = ReferenceMessage(channel: clients.second, command: 0x01, payload: [UInt8](repeating: 2, count: 400))
        var answers: [ReferenceMessage] = []
        for (first, second) in zip(one.reports, other.reports) {
            answers += try clients.device.receive(first)
            answers += try clients.device.receive(second)
        }
        #expect(answers == [one, other])
    }

    @Test("a packet may arrive 499 ms after the previous one, but not 500 ms")
    func messageTimeout() throws {
        var clients = try TwoClients()
        let message = ReferenceMessage(channel: 1, command: 0x01, payload: [UInt8](repeating: 1, count: 150))
        #expect(try clients.device.receive(message.reports[0]) == [])
        for report in message.reports[1...] {
            #expect(try clients.device.advance(by: .milliseconds(499)) == [])
            _ = try clients.device.receive(report)
        }
        #expect(clients.device.device.deadline == nil)
        #expect(try clients.device.receive(message.reports[0]) == [])
        #expect(clients.device.device.deadline == clients.device.now + .milliseconds(500))
        #expect(try clients.device.advance(by: .milliseconds(500)).map(\.payload) == [[0x05]])
        #expect(try clients.device.receive(message.reports[1]) == [])
    }

    @Test("INIT on an open channel keeps it and ends its message and its request")
    func reset() throws {
        var clients = try TwoClients()
        let transaction = try clients.request(clients.first)
        let nonce = [UInt8](0..<8)
        let expected: [UInt8] = [0x06] + nonce + [0, 0, 0, 1, 2, 1, 2, 3, 0x0C]
        #expect(try clients.send(clients.first, 0x06, nonce) == [expected])
        #expect(clients.device.pending.isEmpty)
        #expect(try clients.device.answer(transaction, with: .success([])) == [])
        let reports = ReferenceMessage(channel: 1, command: 0x01, payload: [UInt8](repeating: 1, count: 100)).reports
        _ = try clients.device.receive(reports[0])
        #expect(try clients.send(clients.first, 0x06, nonce) == [expected])
        #expect(try clients.device.receive(reports[1]) == [])
        #expect(try clients.send(clients.first, 0x01, [5]) == [[0x01, 5]])
    }

    @Test("a new channel replaces the idle one that was used least recently")
    func bounded() throws {
        var device = ObservedDevice()
        for _ in 0..<32 { _ = try device.open() }
        _ = try device.advance(by: .seconds(1))
        _ = try device.receive(ReferenceMessage(channel: 1, command: 0x01, payload: []))
        _ = try device.receive(ReferenceMessage(channel: 2, command: 0x10, payload: [0x02]))
        _ = try device.advance(by: .seconds(1))
        #expect(try device.open() == 33)
        #expect(!device.device.isOpen(ChannelID(rawValue: 3)), "1 was used later, 2 waits")
        for channel in 3...32 as ClosedRange<UInt32> {
            _ = try device.receive(ReferenceMessage(channel: channel, command: 0x10, payload: [0x02]))
        }
        for channel in [1, 33] as [UInt32] {
            _ = try device.receive(ReferenceMessage(channel: channel, command: 0x10, payload: [0x02]))
        }
        let refusals = try device.receive(ReferenceMessage(channel: .max, command: 0x06, payload: [UInt8](0..<8)))
        #expect(refusals.last == ReferenceMessage(channel: .max, command: 0x3F, payload: [0x06]), "no channel is idle")
    }

    @Test("WINK is passed on if it is supported")
    func wink() throws {
        var clients = try TwoClients(supportsWink: true)
        #expect(try clients.send(clients.first, 0x08) == [[0x08]])
        #expect(clients.device.winks == 1)
        var others = try TwoClients(supportsWink: false)
        #expect(try others.send(others.first, 0x08) == [[0x3F, 0x01]])
        #expect(others.device.winks == 0)
    }

    @Test("a lock excludes other channels until it ends, but not INIT")
    func lock() throws {
        var clients = try TwoClients()
        #expect(try clients.send(clients.first, 0x04, [11]) == [[0x3F, 0x02]])
        #expect(try clients.send(clients.first, 0x04, [10]) == [[0x04]])
        #expect(try clients.send(clients.second, 0x01) == [[0x3F, 0x06]])
        #expect(try clients.send(clients.second, 0x04, [0]) == [[0x3F, 0x06]])
        #expect(try clients.send(clients.first, 0x01) == [[0x01]])
        #expect(try clients.device.open() == 3)
        _ = try clients.device.advance(by: .milliseconds(9999))
        #expect(try clients.send(clients.second, 0x01) == [[0x3F, 0x06]])
        _ = try clients.device.advance(by: .milliseconds(1))
        #expect(try clients.send(clients.second, 0x01) == [[0x01]])
        #expect(try clients.send(clients.first, 0x04, [5]) == [[0x04]])
        #expect(try clients.send(clients.first, 0x04, [0]) == [[0x04]])
        #expect(try clients.send(clients.second, 0x01) == [[0x01]])
    }
}

@Suite("Requests that wait")
struct PendingRequestTests {
    @Test("keepalives are sent at once and then every 100 ms, until the answer")
    func keepalives() throws {
        var clients = try TwoClients()
        let transaction = try clients.request(clients.first)
        #expect(try clients.device.advance(by: .zero) == [], "one is sent at once")
        #expect(clients.device.device.deadline == .milliseconds(100))
        #expect(try clients.device.advance(by: .milliseconds(99)) == [])
        clients.device.setStatus(.userPresenceNeeded, of: transaction)
        for _ in 0..<20 {
            let due = try clients.device.advance(by: .milliseconds(clients.device.now == .milliseconds(99) ? 1 : 100))
            #expect(due == [ReferenceMessage(channel: clients.first, command: 0x3B, payload: [2])])
        }
        #expect(try clients.device.advance(by: .seconds(5)).count == 1, "late keepalives are not repeated")
        _ = try clients.device.answer(transaction, with: .success([]))
        #expect(clients.device.device.deadline == nil)
        #expect(try clients.device.advance(by: .seconds(1)) == [])
    }

    @Test("a cancelled request is answered with 0x2D, and the cancellation itself is not")
    func cancel() throws {
        var clients = try TwoClients()
        let transaction = try clients.request(clients.first)
        #expect(try clients.send(clients.second, 0x11) == [], "another client's cancellation changes nothing")
        #expect(clients.device.pending == [clients.first: transaction])
        #expect(try clients.send(clients.first, 0x11) == [[0x10, 0x2D]])
        #expect(try clients.send(clients.first, 0x11) == [])
        #expect(try clients.device.answer(transaction, with: .success([])) == [])
        _ = try clients.request(clients.first)
        #expect(try clients.send(clients.first, 0x11, [UInt8](repeating: 0, count: 57)) == [[0x10, 0x2D]])
    }

    @Test("the device reports the end of a request that is cancelled or reset", arguments: [0x11, 0x06] as [UInt8])
    func ended(command: UInt8) throws {
        var device = CTAPHIDDevice(version: CTAPHIDDeviceVersion(major: 1, minor: 0, build: 0), supportsWink: false)
        var actions: [CTAPHIDAction] = []
        let payload = [UInt8](repeating: 0, count: command == 0x06 ? 8 : 0)
        for message in [
            ReferenceMessage(channel: .max, command: 0x06, payload: [UInt8](0..<8)),
            ReferenceMessage(channel: 1, command: 0x10, payload: [0x02]),
            ReferenceMessage(channel: 1, command: command, payload: payload),
        ] {
            for bytes in message.reports {
                actions += device.receive(try #require(HIDReport(bytes: bytes)), at: .zero)
            }
        }
        let ends = actions.filter { if case .ended = $0 { true } else { false } }
        #expect(ends.count == 1)
    }

    @Test("other channels are served while a request waits")
    func otherChannels() throws {
        var clients = try TwoClients()
        let transaction = try clients.request(clients.first)
        #expect(try clients.send(clients.second, 0x01, [7, 8]) == [[0x01, 7, 8]])
        #expect(try clients.device.open() == 3)
        let info = try clients.request(clients.second, [0x04])
        #expect(try clients.device.answer(info, with: .success([0xA0])).map(\.payload) == [[0, 0xA0]])
        #expect(clients.device.pending == [clients.first: transaction])
    }

    @Test("a second message on the channel of a request is refused, and the request remains")
    func sameChannel() throws {
        var clients = try TwoClients()
        let transaction = try clients.request(clients.first)
        #expect(try clients.send(clients.first, 0x10, [0x04]) == [[0x3F, 0x06]])
        #expect(try clients.send(clients.first, 0x01) == [[0x3F, 0x06]])
        #expect(clients.device.pending == [clients.first: transaction])
        #expect(try clients.device.refuse(transaction, with: .channelBusy).map(\.payload) == [[0x06]])
        #expect(clients.device.pending.isEmpty)
    }
}
