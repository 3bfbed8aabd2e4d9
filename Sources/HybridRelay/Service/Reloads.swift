// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import Logging
internal import ServiceSupport

/// Keeps account of what was read again, for log and metrics.
struct Reloads {
    private let expiry = Gauge(label: "hybrid_relay_certificate_expiry_timestamp_seconds")
    private let counters: [String: (done: Counter, kept: Counter)]

    init(certificateEnd: Int?) {
        counters = Dictionary(
            uniqueKeysWithValues: ["certificate", "tokens", "limits"].map { part in
                let counter = { (result: String) in
                    Counter(label: "hybrid_relay_reloads_total", dimensions: [("part", part), ("result", result)])
                }
                return (part, (counter("done"), counter("kept")))
            }
        )
        certificateEnds(certificateEnd)
    }

    /// Notes when the certificate ends, in seconds since 1970.
    func certificateEnds(_ end: Int?) {
        if let end { expiry.record(end) }
    }

    /// Reads something again; where that fails, what was in force stays, and the log says why.
    func attempt(_ part: String, _ logger: Logger, _ read: () throws(CommandFailure) -> Void) {
        do throws(CommandFailure) {
            try read()
            counters[part]?.done.increment()
            logger.notice("\(part) read again")
        } catch {
            counters[part]?.kept.increment()
            logger.error("kept the old \(part): \(error)")
        }
    }
}
