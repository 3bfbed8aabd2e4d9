// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
private import Synchronization

/// The lines of one set of labels: one value, or two for a summary.
protocol PrometheusSeries: AnyObject, Sendable {
    /// The suffix of the metric's name and the value as text.
    var samples: [(suffix: String, value: String)] { get }
}

/// A counter.
///
/// Negative amounts and NaN are ignored, and so is a reset, which Prometheus would take for a restart.
final class CounterSeries: PrometheusSeries, CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<UInt64>(0)
    private let fraction = AtomicDouble()

    func increment(by amount: Int64) {
        if amount > 0 { whole.wrappingAdd(UInt64(amount), ordering: .relaxed) }
    }

    func increment(by amount: Double) {
        if amount > 0, amount.isFinite { fraction.add(amount) }
    }

    func reset() {}

    var samples: [(suffix: String, value: String)] {
        let (whole, fraction) = (whole.load(ordering: .relaxed), fraction.value)
        return [("", fraction == 0 ? String(whole) : PrometheusText.number(Double(whole) + fraction))]
    }
}

/// A gauge: the latest value.
final class GaugeSeries: PrometheusSeries, MeterHandler, RecorderHandler {
    private let current = AtomicDouble()

    func set(_ value: Int64) { current.value = Double(value) }

    func set(_ value: Double) { current.value = value }

    func record(_ value: Int64) { current.value = Double(value) }

    func record(_ value: Double) { current.value = value }

    func increment(by amount: Double) { current.add(amount) }

    func decrement(by amount: Double) { current.add(-amount) }

    var samples: [(suffix: String, value: String)] { [("", PrometheusText.number(current.value))] }
}

/// A summary: the number of values and their sum; durations are summed in seconds.
final class SummarySeries: PrometheusSeries, RecorderHandler, TimerHandler {
    private let count = Atomic<UInt64>(0)
    private let sum = AtomicDouble()

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        sum.add(value)
        count.wrappingAdd(1, ordering: .relaxed)
    }

    func recordNanoseconds(_ duration: Int64) {
        if duration >= 0 { record(Double(duration) / 1_000_000_000) }
    }

    var samples: [(suffix: String, value: String)] {
        [("_sum", PrometheusText.number(sum.value)), ("_count", String(count.load(ordering: .relaxed)))]
    }
}

/// A floating-point number that several threads may change concurrently.
final class AtomicDouble: Sendable {
    private let bits = Atomic<UInt64>(0)

    var value: Double {
        get { Double(bitPattern: bits.load(ordering: .relaxed)) }
        set { bits.store(newValue.bitPattern, ordering: .relaxed) }
    }

    func add(_ amount: Double) {
        var known = bits.load(ordering: .relaxed)
        while true {
            let sum = (Double(bitPattern: known) + amount).bitPattern
            let (exchanged, original) = bits.weakCompareExchange(expected: known, desired: sum, ordering: .relaxed)
            if exchanged { return }
            known = original
        }
    }
}
