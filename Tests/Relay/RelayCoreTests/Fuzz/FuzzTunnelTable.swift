// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import HybridRelayCore
import NIOCore
import TestSupport

/// Makes calls in any order and compares the table with a reference implementation that searches a list.
func fuzzTunnelTable(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    var world = TableWorld()
    for _ in 0..<200 where !choices.isEmpty { try world.step(&choices) }
    return try world.close()
}

/// The table and the reference.
///
/// Members are numbers.
private struct TableWorld {
    private static let node: UInt16 = 0x0102
    private static let limits: RelayLimits = {
        var limits = RelayLimits()
        limits.tunnels = 7
        return limits
    }()

    private var table = TunnelTable<Int>(node: node, limits: limits)
    private var reference = ReferenceTable(limits: limits, node: node)
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var nextMember = 0
    private var opened = 0
    private var records = 0
    private var closed: [Int: Int] = [:]
    /// All keys in the order of opening.
    private var keys: [TunnelIdentity] = []

    mutating func step(_ choices: inout Choices) throws {
        switch choices.number(below: 8) {
        case 0, 1: try open(&choices)
        case 2: try join(&choices)
        case 3: if let key = key(&choices) { recordData(key) }
        case 4: if let key = key(&choices) { try end(key, &choices) }
        case 5, 6: try leave(&choices)
        default:
            now = now + .seconds(choices.pick([0, 1, 59, 60, 119, 120, 299, 300, 600]))
            try take(table.sweep(now: now), reference.sweep(now: now))
        }
        try invariant(table.count == reference.tunnels.count, "both tables have the same number of tunnels")
    }

    /// Removes all ends.
    ///
    /// Returns true if a client joined any tunnel.
    mutating func close() throws -> Bool {
        let wasPaired = reference.wasPaired
        for tunnel in reference.tunnels {
            if tunnel.phone != nil { try leave(tunnel.key, .phone, bytes: 1) }
            if tunnel.client != nil { try leave(tunnel.key, .client, bytes: 1) }
        }
        try invariant(table.count == 0 && records == opened, "every tunnel ends once")
        try invariant(closed.values.allSatisfy { $0 == 1 }, "every end is closed at most once")
        let kept = Mirror(reflecting: table).children.filter { $0.label == "entries" || $0.label == "waiting" }
        try invariant(kept.count == 2, "the table stores its state in entries and waiting")
        for child in kept {
            try invariant(Mirror(reflecting: child.value).children.isEmpty, "nothing is left in \(child.label ?? "")")
        }
        return wasPaired
    }

    /// Returns an assigned key, or an unknown one.
    private func key(_ choices: inout Choices) -> TunnelIdentity? {
        let number = choices.number(below: keys.count + 1)
        guard number < keys.count else {
            return TunnelID(bytes: [UInt8](repeating: 9, count: 16)).map {
                TunnelIdentity(routing: RoutingID(node: Self.node, check: choices.byte()), tunnel: $0)
            }
        }
        let key = keys[number]
        switch choices.number(below: 8) {
        case 0: return TunnelIdentity(routing: RoutingID(node: Self.node, check: choices.byte()), tunnel: key.tunnel)
        case 1: return TunnelIdentity(routing: RoutingID(node: 0, check: key.routing.bytes[2]), tunnel: key.tunnel)
        default: return key
        }
    }

    private mutating func member() -> Int {
        nextMember += 1
        return nextMember
    }

    private mutating func open(_ choices: inout Choices) throws {
        let byte = choices.number(below: 2) == 0 ? UInt8(1) : 2
        let tunnel = try present(TunnelID(bytes: [UInt8](repeating: byte, count: 16)), "16 bytes are an ID")
        let (phone, check) = (member(), choices.pick([0, 1, 254, 255] as [UInt8]))
        let opening = table.open(tunnel, by: phone, check: check, now: now)
        let expected = reference.open(tunnel, by: phone, check: check, now: now)
        try invariant(opening?.key == expected?.key, "both tables open the same tunnel")
        guard let opening, let expected else { return }
        try take(opening.closeInstructions, expected.closeInstructions)
        keys.append(opening.key)
        opened += 1
    }

    private mutating func join(_ choices: inout Choices) throws {
        guard let key = key(&choices) else { return }
        let client = member()
        let phone = table.join(key, by: client, now: now)
        try invariant(phone == reference.join(key, by: client, now: now), "both tables join the same ends")
    }

    private mutating func recordData(_ key: TunnelIdentity) {
        table.recordData(key, now: now)
        reference.recordData(key, now: now)
    }

    private mutating func end(_ key: TunnelIdentity, _ choices: inout Choices) throws {
        let side: TunnelSide = choices.flag() ? .phone : .client
        let ends: [TunnelEndReason] = [
            .closed(by: side, code: .normal), .closed(by: side, code: nil), .violated(by: side, .text), .exhausted,
            .shutdown, .abandoned,
        ]
        let end = choices.pick(ends)
        try take(table.end(key, end), reference.end(key, end))
    }

    private mutating func leave(_ choices: inout Choices) throws {
        guard let key = key(&choices) else { return }
        let side: TunnelSide = choices.flag() ? .phone : .client
        guard reference.holds(key, side) else {
            guard reference.tunnels.allSatisfy({ $0.key != key }) else { return }
            let left = table.leave(key, side, bytes: 5, now: now)
            try invariant(left.closeInstructions.isEmpty && left.record == nil, "removing an unknown end has no effect")
            return
        }
        try leave(key, side, bytes: choices.number(below: 256))
    }

    private mutating func leave(_ key: TunnelIdentity, _ side: TunnelSide, bytes: Int) throws {
        let left = table.leave(key, side, bytes: bytes, now: now)
        let expected = reference.leave(key, side, bytes: bytes, now: now)
        try take(left.closeInstructions, expected.closeInstructions)
        try invariant(left.record == expected.record, "both tables return the same record")
        if left.record != nil { records += 1 }
    }

    private mutating func take(
        _ closeInstructions: [TunnelTable<Int>.CloseInstruction],
        _ expected: [Int: CloseCode?]
    ) throws {
        let found = Dictionary(closeInstructions.map { ($0.member, $0.code) }) { first, _ in first }
        try invariant(
            found.count == closeInstructions.count && found == expected,
            "both tables close the same ends with the same codes"
        )
        for instruction in closeInstructions { closed[instruction.member, default: 0] += 1 }
    }
}
