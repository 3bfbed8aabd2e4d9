// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Random sequences of events in the contact table")
struct ContactTableSequenceTests {
    private typealias Table = ContactTableUnderTest

    /// The expected state of a wake-up that has not ended.
    private struct WakeUpModel {
        let contact: UInt8
        let client: Int
        var isAccepted = false
        /// The listeners that have received it.
        var receivers: [Int] = []
    }

    private struct World {
        let table: Table
        var random: SeededGenerator
        var now = Table.start
        /// The listening member of each contact ID, and its number in the table.
        var listeners: [UInt8: (member: Int, id: ListenerID)] = [:]
        var wakeUps: [Int: WakeUpModel] = [:]
        /// Listeners that were replaced or have left; the table must not address them.
        var departed: Set<Int> = []
        var last = 0
        var delivered = 0

        mutating func next() -> Int {
            last += 1
            return last
        }
    }

    @Test("lose no wake-up, deliver none twice to a listener, and leave nothing behind", arguments: 1...30)
    func sequences(seed: Int) throws {
        let table = Table {
            $0.heldContacts = 6
            $0.wakeUpsPerMinute = 600
            $0.wakeUpBurst = 10
        }
        var world = World(table: table, random: SeededGenerator(seed: UInt64(seed)))
        for _ in 0..<1_000 { try step(&world) }
        for key in world.wakeUps.keys.sorted() { try end(key, &world) }
        for contact in world.listeners.keys.sorted() { leave(contact, &world) }
        world.now = world.now + .minutes(3)
        #expect(table.sweep(now: world.now).isEmpty)
        #expect(table.table.wakeUpCount == 0 && table.table.heldCount == 0)
        #expect(table.table.listenerCount == 0 && table.table.contactCount == 0)
        #expect(world.delivered > 100)
    }

    private func step(_ world: inout World) throws {
        let contact = UInt8.random(in: 1...5, using: &world.random)
        let key = world.wakeUps.keys.sorted().randomElement(using: &world.random)
        switch Int.random(in: 0..<100, using: &world.random) {
        case ..<20: try listen(contact, &world)
        case ..<35: leave(contact, &world)
        case ..<60: try request(contact, &world)
        case ..<80: if let key { try end(key, &world) }
        case ..<90: if let key { try decline(key, &world) }
        default:
            world.now = world.now + .milliseconds(Int64.random(in: 0...3_000, using: &world.random))
            for due in world.table.sweep(now: world.now) {
                let key = try #require(world.wakeUps.keys.first { try Table.key($0) == due })
                #expect(world.wakeUps[key]?.isAccepted == false, "only held requests end by time")
                try end(key, &world)
            }
        }
        let held = world.wakeUps.values.count { !$0.isAccepted }
        #expect(world.table.table.heldCount == held && held <= 6)
        #expect(world.table.table.wakeUpCount == world.wakeUps.count)
        #expect(world.table.table.listenerCount == world.listeners.count)
        let areRight = world.wakeUps.values.allSatisfy { wakeUp in
            // While the phone listens, nothing is held, and it has each wake-up. No listener has one twice.
            let listener = world.listeners[wakeUp.contact]
            return (listener == nil || wakeUp.isAccepted && wakeUp.receivers.last == listener?.member)
                && Set(wakeUp.receivers).count == wakeUp.receivers.count
        }
        #expect(areRight)
    }

    private func listen(_ contact: UInt8, _ world: inout World) throws {
        let member = world.next()
        let (id, orders) = world.table.listen(try Table.contact(contact), by: member)
        let older = world.listeners.updateValue((member, id), forKey: contact)
        if let older { world.departed.insert(older.member) }
        #expect(orders.contains { $0 == .replaced(older?.member ?? -1) } == (older != nil))
        follow(orders.filter { $0 != .replaced(older?.member ?? -1) }, &world)
    }

    private func leave(_ contact: UInt8, _ world: inout World) {
        guard let listener = world.listeners.removeValue(forKey: contact), let digest = try? Table.contact(contact)
        else { return }
        world.table.stop(digest, listener.id)
        world.departed.insert(listener.member)
    }

    private func request(_ contact: UInt8, _ world: inout World) throws {
        let (key, client) = (world.next(), world.next())
        guard let orders = try world.table.request(try Table.contact(contact), key: key, by: client, now: world.now)
        else { return }
        world.wakeUps[key] = WakeUpModel(contact: contact, client: client)
        follow(orders, &world)
    }

    /// Records what connections receive.
    private func follow(_ orders: [Table.Order], _ world: inout World) {
        for order in orders {
            switch order {
            case .accept(let client):
                guard let key = world.wakeUps.first(where: { $0.value.client == client })?.key else {
                    Issue.record("a client without a request is accepted")
                    continue
                }
                #expect(world.wakeUps[key]?.isAccepted == false, "a client is accepted once")
                world.wakeUps[key]?.isAccepted = true
            case .wake(let member, _, let key):
                #expect(!world.departed.contains(member), "a listener that has left gets no wake-up")
                guard let model = world.wakeUps[key], world.listeners[model.contact]?.member == member else {
                    Issue.record("a wake-up without a request, or for another phone")
                    continue
                }
                #expect(model.isAccepted, "the client is accepted first")
                world.wakeUps[key]?.receivers.append(member)
                world.delivered += 1
            case .replaced: Issue.record("only a newer listener replaces another")
            }
        }
    }

    private func end(_ key: Int, _ world: inout World) throws {
        let model = try #require(world.wakeUps[key])
        world.wakeUps[key] = nil
        let state = try #require(try world.table.remove(key))
        #expect((state == .ringing) == model.isAccepted)
        #expect(try world.table.remove(key) == nil)
    }

    private func decline(_ key: Int, _ world: inout World) throws {
        guard let model = world.wakeUps[key], let listener = world.listeners[model.contact] else { return }
        let digest = try Table.contact(model.contact)
        let tunnel = try Table.key(key)
        let numbers = (1...UInt32(world.last)).filter {
            world.table.table.declined($0, for: digest, by: listener.id) == tunnel
        }
        #expect(numbers.count == 1, "each wake-up has its own number")
        try end(key, &world)
        for number in numbers { #expect(world.table.table.declined(number, for: digest, by: listener.id) == nil) }
    }
}
