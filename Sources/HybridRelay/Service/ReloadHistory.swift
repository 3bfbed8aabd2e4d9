// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import HybridCommandSupport
internal import HybridThreads
internal import Logging

/// Part that can be reloaded while the relay runs.
enum ReloadedPart: String, CaseIterable {
    case certificate
    case tokens
    case limits
}

/// Log and metrics of reloads.
final class ReloadHistory: Sendable {
    private let expiry = Gauge(label: "hybrid_relay_certificate_expiry_timestamp_seconds")
    private let counters: [ReloadedPart: (done: Counter, kept: Counter)]
    /// Reason of the last failure of a part.
    private let failures = Locked<[ReloadedPart: String]>([:])

    init(certificateExpiry: Int?) {
        counters = Dictionary(
            uniqueKeysWithValues: ReloadedPart.allCases.map { part in
                let counter = { (result: String) in
                    let dimensions = [("part", part.rawValue), ("result", result)]
                    return Counter(label: "hybrid_relay_reloads_total", dimensions: dimensions)
                }
                return (part, (counter("done"), counter("kept")))
            }
        )
        recordExpiry(certificateExpiry)
    }

    /// Records the expiry of the certificate, in seconds since 1970.
    func recordExpiry(_ expiry: Int?) {
        if let expiry { self.expiry.record(expiry) }
    }

    /// Reloads a part.
    ///
    /// After a failure the old one stays in force and the reason is logged.
    ///
    /// - Parameter isRequested: True if an operator requested it. Repeated automatic failures are logged once.
    /// - Returns: True if it was reloaded.
    func attempt(
        _ part: ReloadedPart,
        isRequested: Bool,
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
            if isNew || isRequested {
                counters[part]?.kept.increment()
                logger.error("kept the old \(part): \(reason)")
            }
            return false
        }
    }
}
