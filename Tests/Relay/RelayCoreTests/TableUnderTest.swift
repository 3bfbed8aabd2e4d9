// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridRelayCore
import NIOCore

/// A table in a class, since expectations cannot contain mutating calls.
///
/// Members are numbers.
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

    func join(_ key: TunnelIdentity, by client: Int, now: NIODeadline) -> Int? {
        table.join(key, by: client, now: now)
    }

    func recordData(_ key: TunnelIdentity, now: NIODeadline) { table.recordData(key, now: now) }

    func end(_ key: TunnelIdentity, _ end: TunnelEndReason) -> [TunnelTable<Int>.CloseInstruction] {
        table.end(key, end)
    }

    func leave(
        _ key: TunnelIdentity,
        _ side: TunnelSide,
        bytes: Int,
        now: NIODeadline
    ) -> (closeInstructions: [TunnelTable<Int>.CloseInstruction], record: TunnelSummary?) {
        table.leave(key, side, bytes: bytes, now: now)
    }

    func sweep(now: NIODeadline) -> [TunnelTable<Int>.CloseInstruction] { table.sweep(now: now) }
}
