// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridKeyService

@Suite("The queue of requests")
struct QueueTests {
    var queue = SigningQueue<String>()
    let start = ContinuousClock.now

    private mutating func add(_ name: String) throws -> SigningQueue<String>.ID {
        switch queue.add(name, at: start) {
        case .started(let id), .waiting(let id): return id
        case .refused: throw CancellationError()
        }
    }

    @Test("One request at a time, in the order of arrival")
    mutating func order() throws {
        guard case .started(let first) = queue.add("first", at: start) else { throw CancellationError() }
        guard case .waiting(let second) = queue.add("second", at: start) else { throw CancellationError() }
        _ = try add("third")
        let (expired, next) = queue.finish(first, at: start)
        #expect(expired == [] && next?.element == "second" && next?.id == second)
        #expect(queue.finish(second, at: start).next?.element == "third")
    }

    @Test("Requests beyond the limit are refused")
    mutating func limit() throws {
        for number in 0...SigningQueue<String>.maximumWaiting { _ = try add("\(number)") }
        #expect(queue.add("one more", at: start) == .refused)
    }

    @Test("Requests of other hosts wait behind those of this computer, and leave room for them")
    mutating func fairness() throws {
        let first = try add("first")
        let forwarded = (0..<SigningQueue<String>.maximumForwarded).map {
            queue.add("forwarded \($0)", isForwarded: true, at: start)
        }
        #expect(!forwarded.contains(.refused))
        #expect(queue.add("too many", isForwarded: true, at: start) == .refused)
        let local = try add("local")
        _ = try add("second local")
        #expect(queue.finish(first, at: start).next?.element == "local")
        let next = try #require(queue.finish(local, at: start).next)
        #expect(next.element == "second local")
        #expect(queue.finish(next.id, at: start).next?.element == "forwarded 0")
    }

    @Test("An active request of another host keeps its place")
    mutating func activeForwarded() throws {
        guard case .started(let id) = queue.add("forwarded", isForwarded: true, at: start) else {
            throw CancellationError()
        }
        _ = try add("local")
        #expect(queue.finish(id, at: start).next?.element == "local")
    }

    @Test("A waiting request whose client has left is not started")
    mutating func withdrawWaiting() throws {
        let first = try add("first")
        #expect(queue.withdraw(try add("second")) == nil)
        #expect(queue.finish(first, at: start).next == nil)
    }

    @Test("An active request whose client has left must be stopped, and keeps its place until it has ended")
    mutating func withdrawActive() throws {
        let first = try add("first")
        _ = try add("second")
        #expect(queue.withdraw(first) == "first")
        #expect(queue.finish(first, at: start).next?.element == "second")
    }

    @Test("A request that waited too long is not started")
    mutating func patience() throws {
        let first = try add("first")
        _ = try add("second")
        let (expired, next) = queue.finish(first, at: start + SigningQueue<String>.patience + .seconds(1))
        #expect(expired == ["second"] && next == nil)
    }

    @Test("A waiting request can expire, an active one cannot")
    mutating func expiry() throws {
        let first = try add("first")
        let second = try add("second")
        let results = [queue.expire(first), queue.expire(second), queue.expire(second)]
        #expect(results == [false, true, false])
        #expect(queue.finish(first, at: start).next == nil)
    }

    @Test("The end of a request that is not active changes nothing")
    mutating func foreignEnd() throws {
        let first = try add("first")
        let second = try add("second")
        #expect(queue.finish(second, at: start).next == nil)
        #expect(queue.finish(first, at: start).next?.element == "second")
    }
}
