// SPDX-License-Identifier: Apache-2.0

import SSHTestSupport
import TestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Agent messages")
struct MessageTests {
    @Test("Messages arrive in pieces of any size")
    func pieces() throws {
        var random = SeededGenerator()
        for _ in 0..<100 {
            let messages = (0..<random.number(1...20)).map { _ in random.bytes(random.number(1...300)) }
            var stream = messages.flatMap { Wire.string($0) }[...]
            var reader = AgentMessageReader()
            var received: [[UInt8]] = []
            while !stream.isEmpty {
                let piece = stream.prefix(random.number(1...400))
                stream = stream.dropFirst(piece.count)
                try reader.append(piece)
                while let message = try reader.next() { received.append(message) }
            }
            #expect(received == messages, "\(random)")
            #expect(reader.capacity == 4 + AgentMessageReader.maximumLength, "\(random)")
        }
    }

    @Test("A message of the maximum length is read")
    func longestMessage() throws {
        var reader = AgentMessageReader()
        let message = [UInt8](repeating: 7, count: 256 * 1024)
        try reader.append(Wire.string(message))
        #expect(reader.capacity == 0)
        #expect(throws: AgentProtocolError.tooMuchData) { try reader.append([1]) }
        #expect(try reader.next() == message)
        #expect(try reader.next() == nil)
    }

    @Test("A longer message is refused at its length field, before its contents arrive")
    func tooLongMessage() throws {
        for length in [256 * 1024 + 1, 300 * 1024, 0xFFFF_FFFF] {
            let header = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
            var reader = AgentMessageReader()
            try reader.append(header.prefix(3))
            #expect(throws: AgentProtocolError.messageTooLong) { try reader.append(header.suffix(1)) }
            var behind = AgentMessageReader()
            try behind.append(Wire.string([11]) + header)
            #expect(try behind.next() == [11])
            #expect(throws: AgentProtocolError.messageTooLong) { try behind.next() }
        }
    }

    @Test("A message without a type is refused")
    func emptyMessage() {
        var reader = AgentMessageReader()
        #expect(throws: AgentProtocolError.emptyMessage) { try reader.append([0, 0, 0, 0]) }
    }

    @Test("Many short messages in one piece leave no more than one maximum message in memory")
    func shortMessages() throws {
        var reader = AgentMessageReader()
        let stream = [[UInt8]](repeating: Wire.string([11]), count: 50_000).flatMap(\.self)
        try reader.append(stream)
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count == 50_000)
        #expect(reader.capacity == 4 + AgentMessageReader.maximumLength)
    }

    @Test("Requests other than the supported ones fail, and the connection goes on")
    func unsupportedRequests() throws {
        var state = try Recording().state()
        var client = TestClient()
        let name = Wire.string("other@example.org")
        for type in UInt8.min ... .max where ![11, 13, 22, 23, 27].contains(type) {
            #expect(try client.send([type], to: &state).type == 5, "\(type)")
            #expect(try client.send([type] + name, to: &state).type == 5, "\(type)")
        }
        #expect(try client.send([27] + name, to: &state).type == 5)
        for malformed in [[27], [13], [22], [23], [11, 0], [22, 0, 0, 0, 9, 1], [27, 0, 0, 0, 9, 1]] as [[UInt8]] {
            #expect(try client.send(malformed, to: &state).type == 5, "\(malformed)")
        }
        #expect(try client.send([11], to: &state).type == 12)
        #expect(!state.lock.isLocked)
    }

    @Test("The extensions are listed")
    func query() throws {
        var state = try Recording().state()
        var client = TestClient()
        let reply = try #require(client.send([27] + Wire.string("query"), to: &state).reply)
        #expect(reply.bytes[4] == 29)
        let names = try Wire.strings(reply.bytes[5...], count: 3).map { String(decoding: $0, as: UTF8.self) }
        #expect(names == ["query", "query", "session-bind@openssh.com"])
        #expect(try client.send([27] + Wire.string("query") + [0], to: &state).type == 5)
    }

    @Test("Truncated and damaged requests of OpenSSH never crash, and sign nothing but their own data")
    func damagedRequests() throws {
        let recording = try Recording()
        var state = try recording.state()
        let login = try recording.logins[0]
        for request in login.requests {
            for damaged in Damage.truncations(of: request).dropFirst() + Damage.someBitFlips(of: request) {
                var client = TestClient()
                let action = try client.send(damaged, to: &state)
                if let signed = action.request {
                    #expect(damaged.suffix(signed.data.bytes.count + 4).starts(with: signed.data.bytes))
                }
            }
        }
        #expect(!state.lock.isLocked)
    }
}
