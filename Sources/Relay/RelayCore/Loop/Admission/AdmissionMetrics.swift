// SPDX-License-Identifier: Apache-2.0

internal import Metrics

/// Metrics of connections and refused requests, none of which identifies a peer.
struct AdmissionMetrics: Sendable {
    let admitted = Counter(label: "hybrid_relay_connections_total")
    let open = Gauge(label: "hybrid_relay_connections_open")
    let draining = Gauge(label: "hybrid_relay_draining")
    let rejected = Dictionary(
        uniqueKeysWithValues: AdmissionControl.Rejection.allCases.map { reason in
            let dimensions = [("reason", reason.rawValue)]
            return (reason, Counter(label: "hybrid_relay_connections_refused_total", dimensions: dimensions))
        }
    )
    let refused = Dictionary(
        uniqueKeysWithValues: UpgradeRefusal.statuses.map { status in
            (status, Counter(label: "hybrid_relay_refusals_total", dimensions: [("status", "\(status)")]))
        }
    )

    init() {
        draining.record(0)
        open.record(0)
    }

    /// Counts a tunnel requested with the token of this name.
    func countTunnel(openedWith token: String) {
        Counter(label: "hybrid_relay_new_by_token_total", dimensions: [("token", token)]).increment()
    }
}
