// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import HybridCommandSupport
internal import HybridThreads
internal import Logging

/// What can be read again while the relay runs.
enum ReloadedPart: String, CaseIterable {
    case certificate
    case tokens
    case limits
}

/// Keeps account of what was read again, for log and metrics.
final class ReloadHistory: Sendable {
    private let expiry = Gauge(label: "hybrid_relay_certificate_expiry_timestamp_seconds")
    private let counters: [ReloadedPart: (done: Counter, kept: Counter)]
    /// Why something could not be read the last time.
    private let failures = Locked<[ReloadedPart: String]>([:])

    init(certificateEnd: Int?) {
        counters = Dictionary(
            uniqueKeysWithValues: ReloadedPart.allCases.map { part in
                let counter = { (result: String) in
                    let dimensions = [("part", part.rawValue), ("result", result)]
                    return Counter(label: "hybrid_relay_reloads_total", dimensions: dimensions)
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
    ///
    /// - Parameter isAsked: whether somebody has asked for it; what fails by itself is told once.
    /// - Returns: whether it was read.
    func attempt(
        _ part: ReloadedPart,
        isAsked: Bool,
        _ logger: Logger,
        _ read: () throws(CommandFailure) -> Void
    ) -> Bool {
        do throws(CommandFailure) {
            try read()
            failures.withLock { $0[part] = nil }
            counters[part]?.done.increment()
            logger.notice("\(part) read again")
            return true
        } catch {
            let reason = "\(error)"
            let isNew = failures.withLock { failures in
                defer { failures[part] = reason }
                return failures[part] != reason
            }
            if isNew || isAsked {
                counters[part]?.kept.increment()
                logger.error("kept the old \(part): \(reason)")
            }
            return false
        }
    }
}
