// SPDX-License-Identifier: Apache-2.0

internal import Metrics

/// The relay's figures; none tells whose tunnel it was.
struct RelayMetrics: Sendable {
    private let opened = Counter(label: "hybrid_relay_tunnels_total")
    private let open = Gauge(label: "hybrid_relay_tunnels_open")
    private let bytes = Counter(label: "hybrid_relay_tunnel_bytes_total")
    private let waiting = Gauge(label: "hybrid_relay_tunnels_waiting")
    private let connections = Counter(label: "hybrid_relay_connections_total")
    private let connectionsOpen = Gauge(label: "hybrid_relay_connections_open")
    private let draining = Gauge(label: "hybrid_relay_draining")
    private let buffered = Gauge(label: "hybrid_relay_buffered_bytes")
    private let rejections: [String: Counter]
    private let ends: [String: Counter]
    private let refusals: [Int: Counter]

    init() {
        ends = Dictionary(
            uniqueKeysWithValues: TunnelEndReason.labels.map { label in
                (label, Counter(label: "hybrid_relay_tunnel_ends_total", dimensions: [("reason", label)]))
            }
        )
        refusals = Dictionary(
            uniqueKeysWithValues: Set(UpgradeRefusal.allCases.map(\.status)).map { status in
                (status, Counter(label: "hybrid_relay_refusals_total", dimensions: [("status", "\(status)")]))
            }
        )
        rejections = Dictionary(
            uniqueKeysWithValues: (AdmissionControl.Rejection.allCases.map(\.rawValue) + ["proxy"]).map { reason in
                (reason, Counter(label: "hybrid_relay_connections_refused_total", dimensions: [("reason", reason)]))
            }
        )
        draining.record(0)
        record(open: 0, waiting: 0, connections: 0, bufferedBytes: 0)
    }

    /// A connection was let in.
    func connectionArrived() { connections.increment() }

    /// A connection was hung up on before a word was said.
    func connectionRejected(_ reason: String) { rejections[reason]?.increment() }

    /// A tunnel was asked for with a token of this name.
    func opened(by token: String) {
        Counter(label: "hybrid_relay_new_by_token_total", dimensions: [("token", token)]).increment()
    }

    /// No tunnel can be opened any more.
    func drainBegins() { draining.record(1) }

    /// How much of everything there is, looked at from time to time.
    ///
    /// Tunnels, too: two event loops may tell their counts in the wrong order.
    func record(open: Int, waiting: Int, connections: Int, bufferedBytes: Int) {
        self.open.record(open)
        self.waiting.record(waiting)
        connectionsOpen.record(connections)
        buffered.record(bufferedBytes)
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
