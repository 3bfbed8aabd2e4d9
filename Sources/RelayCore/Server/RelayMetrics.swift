// SPDX-License-Identifier: Apache-2.0

internal import Metrics

/// The relay's figures; none tells whose tunnel it was.
struct RelayMetrics: Sendable {
    private let opened = Counter(label: "hybrid_relay_tunnels_total")
    private let open = Gauge(label: "hybrid_relay_tunnels_open")
    private let bytes = Counter(label: "hybrid_relay_tunnel_bytes_total")
    private let ends: [String: Counter]
    private let refusals: [Int: Counter]

    init() {
        ends = Dictionary(
            uniqueKeysWithValues: TunnelEnd.labels.map { label in
                (label, Counter(label: "hybrid_relay_tunnel_ends_total", dimensions: [("reason", label)]))
            }
        )
        refusals = Dictionary(
            uniqueKeysWithValues: Set(UpgradeRefusal.allCases.map(\.status)).map { status in
                (status, Counter(label: "hybrid_relay_refusals_total", dimensions: [("status", "\(status)")]))
            }
        )
        open.record(0)
    }

    /// A tunnel was opened, and so many are open.
    func tunnelOpened(count: Int) {
        opened.increment()
        open.record(count)
    }

    /// A tunnel ended, and so many are open.
    func tunnelEnded(_ record: TunnelRecord, count: Int) {
        ends[record.end.label]?.increment()
        bytes.increment(by: record.bytes)
        open.record(count)
    }

    /// A request was refused.
    func refused(_ refusal: UpgradeRefusal) {
        refusals[refusal.status]?.increment()
    }
}
