// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing

@testable import DataChannel

@Suite("The box between socket and reader", .timeLimit(.minutes(1)))
struct InboxTests {
    private static func message(_ number: Int) -> WireMessage {
        WireMessage(bytes: [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
    }

    @Test("gives messages in order, whoever is faster", arguments: [1, 2, 4])
    func order(capacity: Int) async throws {
        let inbox = Inbox(capacity: capacity)
        async let delivering: Void = {
            for number in 0..<2_000 { await inbox.deliver(Self.message(number)) }
            inbox.finish(.connectionLost)
        }()
        for number in 0..<2_000 { try #require(try await inbox.next() == Self.message(number)) }
        await #expect(throws: TunnelError.connectionLost) { try await inbox.next() }
        await delivering
    }

    @Test("holds the one who fills it, and lets go when there is room", arguments: [1, 2, 4])
    func capacity(capacity: Int) async throws {
        let inbox = Inbox(capacity: capacity)
        let delivered = Counter()
        async let delivering: Void = {
            for number in 0..<50 {
                await inbox.deliver(Self.message(number))
                delivered.increment()
            }
        }()
        for taken in 0..<50 {
            // As far as it can come: all but the message that fills the box.
            let reachable = min(taken + capacity - 1, 50)
            while delivered.value < reachable { await Task.yield() }
            for _ in 0..<100 { await Task.yield() }
            #expect(delivered.value == reachable)
            #expect(try await inbox.next() == Self.message(taken))
        }
        await delivering
        #expect(delivered.value == 50)
    }

    @Test("gives out what came before the end, then the first reason again and again")
    func end() async throws {
        let inbox = Inbox()
        #expect(inbox.end == nil)
        await inbox.deliver(Self.message(1))
        inbox.finish(.closed(code: 1000))
        inbox.finish(.connectionLost)
        #expect(inbox.end == .closed(code: 1000))
        #expect(try await inbox.next() == Self.message(1))
        for _ in 0..<2 { await #expect(throws: TunnelError.closed(code: 1000)) { try await inbox.next() } }
        await inbox.waitForEnd()
    }

    @Test("wakes everybody when it ends")
    func wakes() async throws {
        for _ in 0..<50 {
            let (empty, full) = (Inbox(), Inbox(capacity: 1))
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: TunnelError.connectionLost) { try await empty.next() }
                }
                for _ in 0..<3 { group.addTask { await empty.waitForEnd() } }
                group.addTask { await full.deliver(Self.message(1)) }
                group.addTask { await full.waitForEnd() }
                await Task.yield()
                empty.finish(.connectionLost)
                full.finish(.connectionLost)
            }
        }
    }

    @Test("lets go of everybody who is cancelled, and stays usable")
    func cancelled() async throws {
        for _ in 0..<50 {
            let (empty, full) = (Inbox(), Inbox(capacity: 1))
            let reader = Task { try await empty.next() }
            let waiter = Task { await empty.waitForEnd() }
            let writer = Task { await full.deliver(Self.message(1)) }
            await Task.yield()
            reader.cancel()
            waiter.cancel()
            writer.cancel()
            let result = await reader.result
            #expect(throws: CancellationError.self) { try result.get() }
            await waiter.value
            await writer.value
            async let next = empty.next()
            await empty.deliver(Self.message(2))
            #expect(try await next == Self.message(2))
        }
    }

    @Test("gives a message to nobody who was cancelled before")
    func cancelledBefore() async throws {
        let inbox = Inbox()
        await inbox.deliver(Self.message(7))
        let gate = Signal()
        let reader = Task {
            await gate.wait()
            return try await inbox.next()
        }
        reader.cancel()
        gate.fire()
        let result = await reader.result
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(try await inbox.next() == Self.message(7), "it is still there")
    }
}
