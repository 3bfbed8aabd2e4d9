// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore
import Testing

@Suite("Signs of life", .timeLimit(.minutes(10)))
struct LifeTests {
    /// Twenty seconds of silence; some are brought about by a machine on which much else wants to run.
    private static let limits = RelayLimits.testing {
        $0.pingInterval = .milliseconds(400)
        $0.pingMisses = 50
    }

    @Test("an end that is silent is pinged as often as it may miss, then its tunnel ends and the other end is told")
    func silent() async throws {
        let limits = Self.limits
        try await RunningRelay.run(limits: limits) { relay in
            let (phone, client) = try await relay.pair()
            // The client answers, the phone does not.
            let answering = Task { [client = UncheckedBox(client)] in
                var code: UInt16?
                while code == nil {
                    let frame = try await client.value.readFrame()
                    if frame.opcode == Wire.close { code = frame.closeCode }
                    if frame.opcode == Wire.ping {
                        try? await client.value.send(Wire.frame(frame.payload, opcode: Wire.pong))
                    }
                }
                return code
            }
            for _ in 0..<limits.pingMisses {
                #expect(try await phone.readFrame() == .init(opcode: Wire.ping, final: true, payload: []))
            }
            #expect(try await phone.readClose() == 1001)
            #expect(try await answering.value == 1001)
        }
    }

    @Test("an end that answers, or says anything at all, stays")
    func answering() async throws {
        let limits = Self.limits
        try await RunningRelay.run(limits: limits) { relay in
            let (phone, routing) = try await relay.phone()
            for round in 0..<limits.pingMisses + 5 {
                let ping = try await phone.readFrame()
                #expect(ping.opcode == Wire.ping)
                // A pong of its own accord is as good (RFC 6455 §5.5.3).
                try await phone.send(Wire.frame(round % 2 == 0 ? ping.payload : [1, 2], opcode: Wire.pong))
            }
            let (client, head) = try await relay.client(routing: routing)
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            try await client.send(Wire.frame([5]))
            var frame = try await phone.readFrame()
            while frame.opcode == Wire.ping { frame = try await phone.readFrame() }
            #expect(frame.payload == [5])
        }
    }
}
