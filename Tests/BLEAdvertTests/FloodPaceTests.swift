// SPDX-License-Identifier: Apache-2.0

import HybridSystemBus
import Testing

@testable import HybridVirtualBlueZ

@Suite("A flood keeps its pace and its bounds")
struct FloodPaceTests {
    private let begun = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { begun + .milliseconds(milliseconds) }

    private func added(_ tree: inout ObjectTree) -> Int {
        tree.takeSignals().count { $0.member == "InterfacesAdded" }
    }

    @Test("What a late beat missed follows at once, and no more than was asked for")
    func pace() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 50, seconds: 3, now: begun))
        for (time, due) in [(0, 0), (20, 1), (500, 24), (2_000, 75), (2_000, 0), (2_980, 49), (3_000, 1), (9_000, 0)] {
            flood.advance(to: at(time), on: "/hci0", isScanning: true, linger: .seconds(60), &tree)
            #expect(added(&tree) == due, "at \(time) ms")
        }
        #expect(flood.sent == 150)
        #expect(flood.heard == 150)
    }

    @Test("What is far behind is made up for beat by beat")
    func bound() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 250, seconds: 1, now: begun))
        for due in [Flood.mostAtOnce, Flood.mostAtOnce, 250 - 2 * Flood.mostAtOnce, 0] {
            flood.advance(to: at(5_000), on: "/hci0", isScanning: true, linger: .seconds(60), &tree)
            #expect(added(&tree) == due)
        }
    }

    @Test("An adapter that does not scan hears none of it")
    func unheard() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 100, seconds: 10, now: begun))
        flood.advance(to: at(1_000), on: "/hci0", isScanning: false, linger: .seconds(60), &tree)
        #expect(added(&tree) == 0)
        flood.advance(to: at(2_000), on: "/hci0", isScanning: true, linger: .seconds(60), &tree)
        #expect(added(&tree) == 100)
        #expect(flood.sent == 200)
        #expect(flood.heard == 100)
    }

    @Test("Devices go when they have lingered")
    func forgetting() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 50, seconds: 4, now: begun))
        for (time, known) in [(1_000, 50), (3_000, 150), (4_000, 150), (6_000, 50), (7_000, 0)] {
            flood.advance(to: at(time), on: "/hci0", isScanning: true, linger: .seconds(3), &tree)
            #expect(tree.objects.count == known, "at \(time) ms")
            #expect(Set(tree.objects.keys) == Set(flood.devices))
        }
        let removed = tree.takeSignals().count { $0.member == "InterfacesRemoved" }
        #expect(removed == 200)
    }

    @Test("The oldest devices go when there are too many")
    func crowding() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 1_000, seconds: 5, now: begun))
        func send(_ hundreds: Int) {
            for _ in 0..<hundreds {
                flood.advance(to: at(5_000), on: "/hci0", isScanning: true, linger: .seconds(60), &tree)
            }
        }
        send(4)
        let first = Set(tree.objects.keys)
        send(4)
        #expect(tree.objects.count == Flood.mostKnown)
        #expect(first.count { tree.objects[$0] != nil } == Flood.mostKnown - 400)
        send(30)
        #expect(tree.objects.count == Flood.mostKnown)
        #expect(Set(tree.objects.keys) == Set(flood.devices))
    }

    @Test("Adverts differ, in address and bytes, and are as long as real ones")
    func strangers() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 500, seconds: 1, now: begun))
        for _ in 0..<5 {
            flood.advance(to: at(1_000), on: "/hci0", isScanning: true, linger: .seconds(1), &tree)
        }
        let services = tree.objects.values.compactMap { $0[Names.device]?["ServiceData"]?.fields }
        #expect(services.count == 500)
        #expect(Set(services.flatMap(\.keys).map { $0.prefix(8) }) == ["0000fff9", "0000fde2"])
        let data = services.flatMap(\.values).compactMap(\.octets)
        #expect(Set(data).count == 500)
        #expect(Set(data.map(\.count)) == [20, 24])
    }

    @Test("Bounds", arguments: [(4_001, 1), (-1, 1), (1, 3_601), (1, -1)])
    func bounds(_ rate: Int, _ seconds: Int) {
        #expect(Flood(rate: rate, seconds: seconds, now: begun) == nil)
    }
}
