// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import HybridThreads

/// A histogram of times with one set of labels, in seconds.
final class HistogramSeries: PrometheusSeries, TimerHandler {
    /// Upper bounds of the buckets in microseconds, without the last bucket, which has none.
    private static let bounds: [Int64] = [
        1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
        10_000_000,
    ]

    private struct Counts {
        var buckets = [UInt64](repeating: 0, count: HistogramSeries.bounds.count + 1)
        var nanoseconds: UInt64 = 0
    }

    private let counts = Locked(Counts())

    /// Counts a time; a negative one is ignored.
    func recordNanoseconds(_ duration: Int64) {
        guard duration >= 0 else { return }
        let bucket = Self.bounds.firstIndex { duration <= $0 * 1000 } ?? Self.bounds.count
        counts.withLock { counts in
            counts.buckets[bucket] += 1
            counts.nanoseconds &+= UInt64(duration)
        }
    }

    func lines(_ name: String, _ labels: String) -> String {
        let counts = counts.withLock { $0 }
        let others = labels.isEmpty ? "" : "\(labels.dropFirst().dropLast()),"
        var text = ""
        var sum: UInt64 = 0
        for (index, count) in counts.buckets.enumerated() {
            sum += count
            let isLast = index == Self.bounds.count
            let bound = isLast ? "+Inf" : PrometheusText.number(Double(Self.bounds[index]) / 1_000_000)
            text += "\(name)_bucket{\(others)le=\"\(bound)\"} \(sum)\n"
        }
        let seconds = PrometheusText.number(Double(counts.nanoseconds) / 1_000_000_000)
        return text + "\(name)_sum\(labels) \(seconds)\n\(name)_count\(labels) \(sum)\n"
    }
}
