// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import Testing

@Suite("Keepalive", .timeLimit(.minutes(10)))
struct KeepaliveTests {
    /// Runs a relay with short intervals between pings; if an answer comes too late on a busy machine, with longer ones.
    private func run(_ body: (RunningRelay, RelayLimits) async throws -> Void) async throws {
        for milliseconds in [100, 400, 2000] {
            let limits = RelayLimits.testing {
                $0.pingInterval = .milliseconds(Int64(milliseconds))
                $0.pingMisses = 50
            }
            do {
                return try await RunningRelay.run(limits: limits) { try await body($0, limits) }
            } catch let error where milliseconds < 2000 && (error is RawClient.Gone || error is ChannelError) {}
        }
    }

    @Test("an unresponsive end is pinged up to the limit, then both ends are closed")
    func silent() async throws {
        try await run { relay, limits in
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
                let frame = try await phone.readAnyFrame()
                guard frame.opcode == Wire.ping else { throw RawClient.Gone() }
                #expect(frame == .init(opcode: Wire.ping, final: true, payload: []))
            }
            #expect(try await phone.readClose() == 1001)
            #expect(try await answering.value == 1001)
        }
    }

    @Test("data of either end postpones the end of an idle tunnel, also between pings")
    func data() throws {
        let relay = try HandDrivenRelay {
            $0.idle = .minutes(1)
            $0.pingInterval = .minutes(10)
        }
        let (phone, client) = try relay.pair()
        try relay.advance(by: .seconds(1))
        for sender in [phone, client, phone] {
            try relay.advance(by: .seconds(40))
            try sender.send(Wire.frame([7]))
            try relay.settle()
            try relay.advance(by: .seconds(1))
        }
        #expect(phone.takeFrames().count == 1 && client.takeFrames().count == 2)
        #expect(!phone.hasEnded && !client.hasEnded)
        try relay.advance(by: .seconds(61))
        #expect(phone.takeFrames().map(\.closeCode) == [1008] && client.takeFrames().map(\.closeCode) == [1008])
    }

    @Test("an end that sends anything stays connected")
    func answering() async throws {
        try await run { relay, limits in
            let (phone, routing) = try await relay.phone()
            for round in 0..<limits.pingMisses + 5 {
                let ping = try await phone.readAnyFrame()
                guard ping.opcode == Wire.ping else { throw RawClient.Gone() }
                // An unsolicited pong also counts (RFC 6455 §5.5.3).
                try await phone.send(Wire.frame(round % 2 == 0 ? ping.payload : [1, 2], opcode: Wire.pong))
            }
            let (client, head) = try await relay.client(routing: routing)
            guard head.hasPrefix("HTTP/1.1 101 ") else { throw RawClient.Gone() }
            try await client.send(Wire.frame([5]))
            #expect(try await phone.readFrame().payload == [5])
        }
    }
}
