// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import HybridRelayCore
import NIOCore
import TestSupport
import Testing

@Suite("Random sequences of events in the tunnel table")
struct TunnelTableSequenceTests {
    /// Expected state of a tunnel.
    private struct Model {
        var phone: Int?
        var client: Int?
        var isPaired = false
        var isOver = false
        var end: TunnelEndReason?
        var bytes = 0
    }

    private struct World {
        var table: TunnelTable<Int>
        var random: SeededGenerator
        var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
        var models: [TunnelIdentity: Model] = [:]
        /// Keys of `models` in the order of opening, since a dictionary's order differs from run to run.
        var keys: [TunnelIdentity] = []
        var owner: [Int: TunnelIdentity] = [:]
        var closeInstructions: [Int: Int] = [:]
        var nextMember = 0
        var opened = 0
        var records = 0
    }

    @Test("closes each end at most once, leaks nothing and returns one record for each tunnel", arguments: 1...20)
    func sequences(seed: Int) throws {
        var limits = RelayLimits()
        limits.tunnels = 12
        let random = SeededGenerator(seed: UInt64(seed))
        var world = World(table: TunnelTable(node: 1, limits: limits), random: random)
        for _ in 0..<2_000 { try step(&world) }
        while let (key, model) = world.models.first {
            leave(key, model.phone != nil ? .phone : .client, &world)
        }
        #expect(world.table.count == 0)
        #expect(world.records == world.opened)
        #expect(world.opened > 50)
        #expect(world.closeInstructions.values.allSatisfy { $0 == 1 })
    }

    private func step(_ world: inout World) throws {
        let key = world.keys.randomElement(using: &world.random)
        switch Int.random(in: 0..<100, using: &world.random) {
        case ..<30: try open(&world)
        case ..<55: if let key { join(key, &world) }
        case ..<65: if let key { world.table.recordData(key, now: world.now) }
        case ..<75: if let key { end(key, &world) }
        case ..<92:
            if let key, let model = world.models[key] {
                let phoneLeaves = model.client == nil || model.phone != nil && Bool.random(using: &world.random)
                leave(key, phoneLeaves ? .phone : .client, &world)
            }
        default:
            world.now = world.now + .seconds(Int64.random(in: 0...90, using: &world.random))
            take(world.table.sweep(now: world.now), from: &world)
        }
        #expect(world.table.count == world.models.count)
        #expect(world.table.count <= 12)
        let waiting = Dictionary(grouping: world.models.filter { !$0.value.isPaired && !$0.value.isOver }) {
            $0.key.tunnel
        }
        #expect(waiting.values.allSatisfy { $0.count <= 4 })
    }

    private func open(_ world: inout World) throws {
        let id = try #require(TunnelID(bytes: [UInt8](repeating: .random(in: 0..<2, using: &world.random), count: 16)))
        let member = world.nextMember
        world.nextMember += 1
        let check = UInt8.random(in: 0..<4, using: &world.random)
        guard let opening = world.table.open(id, by: member, check: check, now: world.now) else {
            #expect(world.models.count == 12)
            return
        }
        world.opened += 1
        #expect(world.models[opening.key] == nil)
        take(opening.closeInstructions, from: &world)
        world.models[opening.key] = Model(phone: member)
        world.keys.append(opening.key)
        world.owner[member] = opening.key
    }

    private func join(_ key: TunnelIdentity, _ world: inout World) {
        let member = world.nextMember
        world.nextMember += 1
        let phone = world.table.join(key, by: member, now: world.now)
        let model = world.models[key]
        let mayJoin = model.map { !$0.isPaired && !$0.isOver } ?? false
        #expect(phone == (mayJoin ? model?.phone : nil))
        guard phone != nil else { return }
        world.models[key]?.client = member
        world.models[key]?.isPaired = true
        world.owner[member] = key
    }

    private func end(_ key: TunnelIdentity, _ world: inout World) {
        let wasOver = world.models[key]?.isOver ?? true
        let closeInstructions = world.table.end(key, .exhausted)
        #expect(closeInstructions.isEmpty == wasOver)
        take(closeInstructions, from: &world)
        if !wasOver { world.models[key]?.end = .exhausted }
    }

    private func leave(_ key: TunnelIdentity, _ side: TunnelSide, _ world: inout World) {
        guard var model = world.models[key] else { return }
        let bytes = Int.random(in: 0..<100, using: &world.random)
        let left = world.table.leave(key, side, bytes: bytes, now: world.now)
        let gone = side == .phone ? model.phone : model.client
        #expect(!left.closeInstructions.contains { $0.member == gone })
        if !model.isOver { model.end = model.isPaired ? .vanished(side) : .abandoned }
        if side == .phone { model.phone = nil } else { model.client = nil }
        model.isOver = true
        model.bytes += bytes
        world.models[key] = model
        take(left.closeInstructions, from: &world)
        if model.phone == nil, model.client == nil {
            world.models[key] = nil
            world.keys.removeAll { $0 == key }
            world.records += 1
            #expect(left.record?.bytes == model.bytes)
            #expect(left.record?.wasPaired == model.isPaired)
            if let end = model.end { #expect(left.record?.reason == end) }
        } else {
            #expect(left.record == nil)
        }
    }

    /// Checks that instructions address only connected members of open tunnels.
    private func take(_ closeInstructions: [TunnelTable<Int>.CloseInstruction], from world: inout World) {
        for instruction in closeInstructions {
            world.closeInstructions[instruction.member, default: 0] += 1
            guard let key = world.owner[instruction.member], let model = world.models[key] else {
                Issue.record("an instruction to a member that has left")
                continue
            }
            #expect(model.phone == instruction.member || model.client == instruction.member)
            world.models[key]?.isOver = true
        }
    }
}
