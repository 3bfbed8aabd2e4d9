// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import NIOCore
import NetworkTestSupport
import Synchronization
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Flow control of a tunnel", .timeLimit(.minutes(5)))
struct FlowTests {
    private static let count = 1_024
    private static let size = 64 << 10

    private static func message(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
    }

    @Test("Unread messages hold the relay back, and nothing is lost when reading continues")
    func flood() async throws {
        let written = Counter()
        let (_, heldAt) = try await ScriptedRelay.run {
            try await $0.answer()
            for index in 0..<Self.count {
                try await $0.sendThrough(Wire.frame(Self.message(index)))
                written.increment()
            }
            return try await $0.finish()
        } client: { endpoint in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { tunnel in
                #expect(try await tunnel.next().first == 0, "it flows")
                let heldAt = await written.settled(below: Self.count)
                for index in 1..<Self.count {
                    let isRight = try await tunnel.next() == Self.message(index)
                    try #require(isRight, "message \(index)")
                }
                return heldAt
            }
        }
        #expect(heldAt < Self.count, "64 MiB were received while no task read")
        #expect(written.value == Self.count)
    }

    @Test("Cancellation during a wait closes the tunnel with 1001")
    func cancelledReceiving() async throws {
        let (code, outcome) = try await ScriptedRelay.run {
            try await $0.answer()
            return try await $0.finish()
        } client: { endpoint in
            let open = Signal()
            let reading = Task {
                try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { tunnel in
                    open.fire()
                    return try await tunnel.next()
                }
            }
            await open.wait()
            reading.cancel()
            return await reading.result
        }
        #expect(throws: CancellationError.self) { try outcome.get() }
        #expect(code == 1001)
    }

    @Test("The tunnel ends within seconds if the relay ignores the close frame")
    func closeFrameIgnored() async throws {
        let (_, took) = try await ScriptedRelay.run {
            try await $0.answer()
            await $0.readToEnd()
        } client: { endpoint in
            let start = ContinuousClock.now
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { _ in }
            return start.duration(to: .now)
        }
        #expect(took < .seconds(60))
    }

    @Test("A tunnel that closes in the background delays no result, and is closed in order")
    func closingInBackground() async throws {
        let returned = Signal()
        let (code, _) = try await ScriptedRelay.run {
            try await $0.answer()
            await returned.wait()
            return try await $0.finish()
        } client: { endpoint in
            let closing = ClosingTunnels()
            let tunnel = try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint, closing: closing) { $0 }
            #expect(tunnel.channel.isActive)
            returned.fire()
            await closing.finish()
            #expect(!tunnel.channel.isActive)
        }
        #expect(code == 1000)
    }

    @Test("The tunnel ends within seconds if the relay stops reading and a message is stuck")
    func stuckSender() async throws {
        let sent = Counter()
        let ended = Signal()
        let (_, took) = try await ScriptedRelay.run {
            try await $0.answer()
            // Reads nothing more, so that the windows fill.
            await ended.wait()
        } client: { endpoint in
            defer { ended.fire() }
            let sending = Task {
                try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { tunnel in
                    while true {
                        try await tunnel.send(WireMessage(bytes: [UInt8](repeating: 1, count: 1 << 20)))
                        sent.increment()
                    }
                }
            }
            #expect(await sent.settled(below: 1_000) < 1_000)
            let start = ContinuousClock.now
            sending.cancel()
            let result = await sending.result
            #expect(throws: CancellationError.self) { try result.get() }
            return start.duration(to: .now)
        }
        #expect(took < .seconds(60))
    }

    @Test("An error of the body closes the tunnel and is rethrown")
    func bodyFails() async throws {
        struct Own: Error {}
        let (code, _) = try await ScriptedRelay.run {
            try await $0.answer(then: Wire.frame([1]) + Wire.frame([2]))
            return try await $0.finish()
        } client: { endpoint in
            await #expect(throws: Own.self) {
                try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { tunnel in
                    _ = try await tunnel.next()
                    throw Own()
                }
            }
        }
        #expect(code == 1001)
    }
}

/// A counter that other tasks watch.
final class Counter: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }
    func increment() { number.withLock { $0 += 1 } }

    /// Returns the value once it is above 0 and constant for half a second, or has reached `limit`.
    func settled(below limit: Int) async -> Int {
        var last = (value: 0, since: ContinuousClock.now)
        while true {
            let now = value
            if now != last.value { last = (now, .now) }
            if now >= limit || now > 0 && last.since.duration(to: .now) > .milliseconds(500) { return now }
            try? await Task.sleep(for: .milliseconds(5))
            if Task.isCancelled { return now }
        }
    }
}
