// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Traffic between socket and reader", .timeLimit(.minutes(5)))
struct TunnelTrafficTests {
    private static func message(_ number: Int) -> WireMessage {
        WireMessage(bytes: [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
    }

    private static func traffic(capacity: Int = 4) -> TunnelTraffic { TunnelTraffic(capacity: capacity, onRoom: {}) }

    @Test("Messages arrive in order, whichever side is faster")
    func order() async throws {
        let traffic = Self.traffic()
        async let delivering: Void = {
            for number in 0..<2_000 {
                traffic.deliver(Self.message(number))
                if number % 3 == 0 { await Task.yield() }
            }
            traffic.finish(.connectionLost)
        }()
        for number in 0..<2_000 { try #require(try await traffic.next() == Self.message(number)) }
        await #expect(throws: TunnelError.connectionLost) { try await traffic.next() }
        await delivering
    }

    @Test("The buffer is full at its capacity and reports room once", arguments: [1, 2, 4])
    func capacity(capacity: Int) async throws {
        let rooms = Counter()
        let traffic = TunnelTraffic(capacity: capacity) { rooms.increment() }
        for round in 1...3 {
            for number in 0..<capacity {
                #expect(!traffic.isFull)
                traffic.deliver(Self.message(number))
            }
            #expect(traffic.isFull)
            // One read of a socket may bring more than fits.
            traffic.deliver(Self.message(capacity))
            #expect(try await traffic.next() == Self.message(0))
            #expect(traffic.isFull && rooms.value == round - 1)
            for number in 1...capacity {
                #expect(try await traffic.next() == Self.message(number))
                #expect(!traffic.isFull && rooms.value == round)
            }
        }
    }

    @Test("Messages before the end are delivered, then the first reason repeatedly")
    func end() async throws {
        let traffic = Self.traffic()
        #expect(traffic.end == nil)
        traffic.deliver(Self.message(1))
        traffic.finish(.closed(code: 1000))
        traffic.finish(.connectionLost)
        #expect(traffic.end == .closed(code: 1000))
        #expect(try await traffic.next() == Self.message(1))
        for _ in 0..<2 { await #expect(throws: TunnelError.closed(code: 1000)) { try await traffic.next() } }
        await traffic.waitForEnd()
    }

    @Test("The end wakes all waiting tasks")
    func wakes() async throws {
        for _ in 0..<50 {
            let traffic = Self.traffic()
            traffic.setRoomToSend(false)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: TunnelError.connectionLost) { try await traffic.next() }
                }
                group.addTask {
                    await #expect(throws: TunnelError.connectionLost) { try await traffic.waitForRoom() }
                }
                for _ in 0..<3 { group.addTask { await traffic.waitForEnd() } }
                await Task.yield()
                traffic.finish(.connectionLost)
            }
        }
    }

    @Test("A sender waits until there is room")
    func room() async throws {
        for _ in 0..<50 {
            let traffic = Self.traffic()
            try await traffic.waitForRoom()
            traffic.setRoomToSend(false)
            let isThrough = Counter()
            async let waiting: Void = {
                try await traffic.waitForRoom()
                isThrough.increment()
            }()
            for _ in 0..<20 { await Task.yield() }
            #expect(isThrough.value == 0)
            traffic.setRoomToSend(true)
            try await waiting
        }
    }

    @Test("Canceled tasks stop waiting, and the traffic stays usable")
    func cancelled() async throws {
        for _ in 0..<50 {
            let traffic = Self.traffic()
            traffic.setRoomToSend(false)
            let reader = Task { _ = try await traffic.next() }
            let sender = Task { try await traffic.waitForRoom() }
            let waiter = Task { await traffic.waitForEnd() }
            await Task.yield()
            for task in [reader, sender] {
                task.cancel()
                let result = await task.result
                #expect(throws: CancellationError.self) { try result.get() }
            }
            waiter.cancel()
            await waiter.value
            async let next = traffic.next()
            traffic.deliver(Self.message(2))
            #expect(try await next == Self.message(2))
        }
    }

    @Test("A task canceled before receives no message")
    func cancelledBefore() async throws {
        let traffic = Self.traffic()
        traffic.deliver(Self.message(7))
        let gate = Signal()
        let reader = Task {
            await gate.wait()
            return try await traffic.next()
        }
        reader.cancel()
        gate.fire()
        let result = await reader.result
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(try await traffic.next() == Self.message(7), "it is still there")
    }

    @Test("Discarding messages makes room for the end")
    func discarded() async throws {
        let rooms = Counter()
        let traffic = TunnelTraffic(capacity: 2) { rooms.increment() }
        for number in 0..<3 { traffic.deliver(Self.message(number)) }
        traffic.discard()
        #expect(!traffic.isFull && rooms.value == 1)
        for number in 0..<3 { traffic.deliver(Self.message(number)) }
        #expect(!traffic.isFull)
        traffic.finish(.closed(code: 1000))
        await #expect(throws: TunnelError.closed(code: 1000)) { try await traffic.next() }
    }
}
