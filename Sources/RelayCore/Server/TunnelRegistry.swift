// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import Logging
internal import NIOConcurrencyHelpers
internal import NIOCore

/// The tunnel table as all event loops share it: a lock around it, and whoever carries out its orders.
///
/// The lock is held for the table's own work only, never while an end is told something. It is asked a few
/// times in a tunnel's life, and once per sweep of an event loop; messages do not pass here.
final class TunnelRegistry: Sendable {
    private let table: NIOLockedValueBox<TunnelTable<TunnelMember>>
    private let metrics = RelayMetrics()
    private let logger: Logger

    init(node: UInt16, limits: RelayLimits, logger: Logger) {
        table = NIOLockedValueBox(TunnelTable(node: node, limits: limits))
        self.logger = logger
    }

    /// A phone opens a tunnel and gets its key.
    func open(_ tunnel: TunnelID, by phone: TunnelMember) throws(UpgradeRefusal) -> TunnelKey {
        let check = UInt8.random(in: .min ... .max)
        let (opening, count) = table.withLockedValue { table in
            (table.open(tunnel, by: phone, check: check, now: .now()), table.count)
        }
        guard let opening else { throw .full }
        metrics.tunnelOpened(count: count)
        carryOut(opening.farewells)
        return opening.key
    }

    /// A client joins a tunnel and gets its phone.
    func join(_ key: TunnelKey, by client: TunnelMember) throws(UpgradeRefusal) -> TunnelMember {
        let phone = table.withLockedValue { $0.join(key, by: client, now: .now()) }
        guard let phone else { throw .unknownTunnel }
        return phone
    }

    /// A tunnel ends, for a reason that an end's connection found.
    func end(_ key: TunnelKey, _ end: TunnelEnd) {
        carryOut(table.withLockedValue { $0.end(key, end) })
    }

    /// An end's connection is closed, after it sent `bytes`.
    func leave(_ key: TunnelKey, _ side: TunnelSide, bytes: Int) {
        let (left, count) = table.withLockedValue { table in
            (table.leave(key, side, bytes: bytes, now: .now()), table.count)
        }
        carryOut(left.farewells)
        guard let record = left.record else { return }
        metrics.tunnelEnded(record, count: count)
        logger.info(
            "tunnel ended",
            metadata: [
                "reason": "\(record.end.label)", "paired": "\(record.wasPaired)", "lasted": "\(record.lifetimeClass)",
                "bytes": "\(record.bytes)",
            ]
        )
    }

    /// A request was refused.
    func refused(_ refusal: UpgradeRefusal) {
        metrics.refused(refusal)
        logger.debug("request refused", metadata: ["status": "\(refusal.status)", "why": "\(refusal)"])
    }

    /// Enters which tunnels carried data since the last sweep, and ends those whose time is up.
    func sweep(active: [TunnelKey]) {
        let farewells = table.withLockedValue { table in
            let now = NIODeadline.now()
            for key in active { table.noteData(key, now: now) }
            return table.sweep(now: now)
        }
        carryOut(farewells)
    }

    private func carryOut(_ farewells: [TunnelTable<TunnelMember>.Farewell]) {
        for farewell in farewells {
            let code = farewell.code
            farewell.member.perform { $0.sayGoodbye(code) }
        }
    }
}
