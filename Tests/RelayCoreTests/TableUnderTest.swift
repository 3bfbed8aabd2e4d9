// SPDX-License-Identifier: Apache-2.0

import CaBLE
import NIOCore
import RelayCore

/// A table in a class, since expectations cannot hold calls that change a value; members are numbers.
final class TableUnderTest {
    private var table: TunnelTable<Int>

    init(_ change: (inout RelayLimits) -> Void = { _ in }) {
        var limits = RelayLimits()
        change(&limits)
        table = TunnelTable(node: 0x1234, limits: limits)
    }

    var count: Int { table.count }

    func open(_ tunnel: TunnelID, by phone: Int, check: UInt8, now: NIODeadline) -> TunnelTable<Int>.Opening? {
        table.open(tunnel, by: phone, check: check, now: now)
    }

    func join(_ key: TunnelKey, by client: Int, now: NIODeadline) -> Int? {
        table.join(key, by: client, now: now)
    }

    func noteData(_ key: TunnelKey, now: NIODeadline) { table.noteData(key, now: now) }

    func end(_ key: TunnelKey, _ end: TunnelEnd) -> [TunnelTable<Int>.Farewell] { table.end(key, end) }

    func leave(
        _ key: TunnelKey,
        _ side: TunnelSide,
        bytes: Int,
        now: NIODeadline
    ) -> (farewells: [TunnelTable<Int>.Farewell], record: TunnelRecord?) {
        table.leave(key, side, bytes: bytes, now: now)
    }

    func sweep(now: NIODeadline) -> [TunnelTable<Int>.Farewell] { table.sweep(now: now) }
}
