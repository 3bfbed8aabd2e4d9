// SPDX-License-Identifier: Apache-2.0

import HybridDBus
import Testing

@testable import HybridVirtualBlueZ

@Suite("A flood keeps its rate and its bounds")
struct FloodPaceTests {
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    private func added(_ tree: inout ObjectTree) -> Int {
        tree.takeSignals().count { $0.member == "InterfacesAdded" }
    }

    @Test("A late tick sends what is due, and no more")
    func pace() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 50, seconds: 3, now: start))
        for (time, due) in [(0, 0), (20, 1), (500, 24), (2_000, 75), (2_000, 0), (2_980, 49), (3_000, 1), (9_000, 0)] {
            flood.advance(to: at(time), on: "/hci0", isScanning: true, linger: .seconds(60), &tree)
            #expect(added(&tree) == due, "at \(time) ms")
        }
        #expect(flood.sent == 150)
        #expect(flood.received == 150)
    }

    @Test("A large backlog is sent tick by tick")
    func bound() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 250, seconds: 1, now: start))
        for due in [Flood.maximumPerTick, Flood.maximumPerTick, 250 - 2 * Flood.maximumPerTick, 0] {
            flood.advance(to: at(5_000), on: "/hci0", isScanning: true, linger: .seconds(60), &tree)
            #expect(added(&tree) == due)
        }
    }

    @Test("An adapter that does not scan receives nothing")
    func notScanning() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 100, seconds: 10, now: start))
        flood.advance(to: at(1_000), on: "/hci0", isScanning: false, linger: .seconds(60), &tree)
        #expect(added(&tree) == 0)
        flood.advance(to: at(2_000), on: "/hci0", isScanning: true, linger: .seconds(60), &tree)
        #expect(added(&tree) == 100)
        #expect(flood.sent == 200)
        #expect(flood.received == 100)
    }

    @Test("Devices are removed after the linger time")
    func forgetting() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 50, seconds: 4, now: start))
        for (time, known) in [(1_000, 50), (3_000, 150), (4_000, 150), (6_000, 50), (7_000, 0)] {
            flood.advance(to: at(time), on: "/hci0", isScanning: true, linger: .seconds(3), &tree)
            #expect(tree.objects.count == known, "at \(time) ms")
            #expect(Set(tree.objects.keys) == Set(flood.devices))
        }
        let removed = tree.takeSignals().count { $0.member == "InterfacesRemoved" }
        #expect(removed == 200)
    }

    @Test("The oldest devices are removed when there are too many")
    func crowding() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 1_000, seconds: 5, now: start))
        func send(_ hundreds: Int) {
            for _ in 0..<hundreds {
                flood.advance(to: at(5_000), on: "/hci0", isScanning: true, linger: .seconds(60), &tree)
            }
        }
        send(4)
        let first = Set(tree.objects.keys)
        send(4)
        #expect(tree.objects.count == Flood.maximumKnown)
        #expect(first.count { tree.objects[$0] != nil } == Flood.maximumKnown - 400)
        send(30)
        #expect(tree.objects.count == Flood.maximumKnown)
        #expect(Set(tree.objects.keys) == Set(flood.devices))
    }

    @Test("Adverts differ in address and bytes and are as long as real ones")
    func content() throws {
        var tree = ObjectTree()
        var flood = try #require(Flood(rate: 500, seconds: 1, now: start))
        for _ in 0..<5 {
            flood.advance(to: at(1_000), on: "/hci0", isScanning: true, linger: .seconds(1), &tree)
        }
        let services = tree.objects.values.compactMap { $0[BlueZNames.device]?["ServiceData"]?.fields }
        #expect(services.count == 500)
        #expect(Set(services.flatMap(\.keys).map { $0.prefix(8) }) == ["0000fff9", "0000fde2"])
        let data = services.flatMap(\.values).compactMap(\.octets)
        #expect(Set(data).count == 500)
        #expect(Set(data.map(\.count)) == [20, 24])
    }

    @Test("Bounds", arguments: [(4_001, 1), (-1, 1), (1, 3_601), (1, -1)])
    func bounds(_ rate: Int, _ seconds: Int) {
        #expect(Flood(rate: rate, seconds: seconds, now: start) == nil)
    }
}
