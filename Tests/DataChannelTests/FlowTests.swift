// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import Synchronization
import Testing

@testable import HybridDataChannel

@Suite("The flow of a tunnel", .timeLimit(.minutes(5)))
struct FlowTests {
    private static let count = 1_024
    private static let size = 64 << 10

    private static func message(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
    }

    @Test("is held back where nobody reads, and nothing is lost when reading goes on")
    func flood() async throws {
        let written = Counter()
        let (_, heldAt) = try await ScriptedRelay.run {
            try await $0.answer()
            for index in 0..<Self.count {
                try await $0.sendThrough(Wire.frame(Self.message(index)))
                written.increment()
            }
            return try await $0.finish()
        } client: { location in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { tunnel in
                #expect(try await tunnel.next().first == 0, "it flows")
                let heldAt = await written.settled(below: Self.count)
                for index in 1..<Self.count {
                    let isRight = try await tunnel.next() == Self.message(index)
                    try #require(isRight, "message \(index)")
                }
                return heldAt
            }
        }
        #expect(heldAt < Self.count, "64 MiB were taken while nobody read")
        #expect(written.value == Self.count)
    }

    @Test("ends when the task is cancelled while it waits, and the relay is told")
    func cancelledReceiving() async throws {
        let (code, outcome) = try await ScriptedRelay.run {
            try await $0.answer()
            return try await $0.finish()
        } client: { location in
            let open = Signal()
            let reading = Task {
                try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { tunnel in
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

    @Test("ends in seconds even if the relay ignores the closeTimeout")
    func farewellIgnored() async throws {
        let (_, took) = try await ScriptedRelay.run {
            try await $0.answer()
            await $0.readToEnd()
        } client: { location in
            let start = ContinuousClock.now
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { _ in }
            return start.duration(to: .now)
        }
        #expect(took < .seconds(60))
    }

    @Test("ends in seconds even if the relay has stopped reading and our last message is stuck")
    func stuckSender() async throws {
        let sent = Counter()
        let ended = Signal()
        let (_, took) = try await ScriptedRelay.run {
            try await $0.answer()
            // Reads nothing more, so that the windows fill.
            await ended.wait()
        } client: { location in
            defer { ended.fire() }
            let sending = Task {
                try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { tunnel in
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

    @Test("stops the reader of the tunnel when the body fails, with the body's error")
    func bodyFails() async throws {
        struct Own: Error {}
        let (code, _) = try await ScriptedRelay.run {
            try await $0.answer(then: Wire.frame([1]) + Wire.frame([2]))
            return try await $0.finish()
        } client: { location in
            await #expect(throws: Own.self) {
                try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { tunnel in
                    _ = try await tunnel.next()
                    throw Own()
                }
            }
        }
        #expect(code == 1001)
    }
}

/// A number that grows, watched by others.
final class Counter: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }
    func increment() { number.withLock { $0 += 1 } }

    /// Its value when it is above 0 and has not grown for half a second, or has reached `limit`.
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
