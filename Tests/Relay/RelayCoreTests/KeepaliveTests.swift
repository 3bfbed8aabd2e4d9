// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import Testing

@Suite("Keepalive", .timeLimit(.minutes(10)))
struct KeepaliveTests {
    /// Twenty seconds without received bytes, since a busy machine may delay some.
    private static let limits = RelayLimits.testing {
        $0.pingInterval = .milliseconds(400)
        $0.pingMisses = 50
    }

    @Test("an unresponsive end is pinged up to the limit, then both ends are closed")
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
                }
                return code
            }
            for _ in 0..<limits.pingMisses {
                #expect(try await phone.readAnyFrame() == .init(opcode: Wire.ping, final: true, payload: []))
            }
            #expect(try await phone.readClose() == 1001)
            #expect(try await answering.value == 1001)
        }
    }

    @Test("an end that sends anything stays connected")
    func answering() async throws {
        let limits = Self.limits
        try await RunningRelay.run(limits: limits) { relay in
            let (phone, routing) = try await relay.phone()
            for round in 0..<limits.pingMisses + 5 {
                let ping = try await phone.readAnyFrame()
                #expect(ping.opcode == Wire.ping)
                // An unsolicited pong also counts (RFC 6455 §5.5.3).
                try await phone.send(Wire.frame(round % 2 == 0 ? ping.payload : [1, 2], opcode: Wire.pong))
            }
            let (client, head) = try await relay.client(routing: routing)
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            try await client.send(Wire.frame([5]))
            #expect(try await phone.readFrame().payload == [5])
        }
    }
}
