// SPDX-License-Identifier: Apache-2.0

package import CoreMetrics
internal import HybridThreads
private import Synchronization

/// A registry of a program's metrics, which writes them in the format of Prometheus.
///
/// Counting takes no lock. The number of series is bounded: beyond the bound, callers get detached metrics that are not
/// reported, and `metrics_series_dropped_total` counts them. The same applies to a metric whose name already has
/// another type, and to aggregating recorders, which no program uses. Timers are histograms of seconds.
package final class PrometheusRegistry: Sendable {
    /// The name of the metric that counts dropped series.
    package static let droppedSeriesName = "metrics_series_dropped_total"

    private struct State {
        var families: [String: Family] = [:]
        var seriesCount = 0
        var collectors: [@Sendable () -> [PrometheusReading]] = []
    }

    private struct Family {
        let kind: PrometheusKind
        /// The series by their labels in the text format.
        var series: [String: any PrometheusSeries] = [:]
    }

    private let state: Locked<State>
    private let dropped = Atomic<UInt64>(0)
    private let help: [String: String]
    private let maximumSeries: Int

    /// Creates a registry without metrics.
    ///
    /// - Parameters:
    ///   - help: The help texts by metric name.
    ///   - maximumSeries: The maximum number of series of all metrics together.
    package init(help: [String: String] = [:], maximumSeries: Int = 1000) {
        self.help = help
        self.maximumSeries = maximumSeries
        state = Locked(State())
    }

    /// Adds a collector, which ``render()`` calls on its own thread.
    package func addCollector(_ collect: @escaping @Sendable () -> [PrometheusReading]) {
        state.withLock { $0.collectors.append(collect) }
    }

    /// Returns all metrics in the text format 0.0.4, sorted by name and labels.
    package func render() -> String {
        let (families, collectors) = state.withLock { ($0.families, $0.collectors) }
        let droppedSeries = PrometheusReading.counter(
            Self.droppedSeriesName,
            help: "Requests for a series that was dropped: there were too many, or its name has a different type.",
            Double(dropped.load(ordering: .relaxed))
        )
        var texts: [String: String] = [:]
        for reading in [droppedSeries] + collectors.flatMap({ $0() }) {
            let head = PrometheusText.head(reading.name, reading.kind, help: reading.help)
            texts[reading.name] = "\(head)\(reading.name) \(PrometheusText.number(reading.value))\n"
        }
        for (name, family) in families {
            var text = PrometheusText.head(name, family.kind, help: help[name])
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                text += series.lines(name, labels)
            }
            texts[name] = text
        }
        return texts.sorted { $0.key < $1.key }.map(\.value).joined()
    }

    /// Returns the series with a name and labels, creating it if needed, or a detached one if it can't be kept.
    private func series<Series: PrometheusSeries>(
        _ kind: PrometheusKind,
        _ label: String,
        _ dimensions: [(String, String)],
        make: () -> Series
    ) -> Series {
        let name = PrometheusText.metricName(label)
        let labels = PrometheusText.labels(dimensions)
        let kept = state.withLock { state -> Series? in
            if let family = state.families[name] {
                guard family.kind == kind else { return nil }
                if let series = family.series[labels] { return series as? Series }
            }
            guard name != Self.droppedSeriesName, state.seriesCount < maximumSeries else { return nil }
            let series = make()
            state.families[name, default: Family(kind: kind)].series[labels] = series
            state.seriesCount += 1
            return series
        }
        if let kept { return kept }
        dropped.wrappingAdd(1, ordering: .relaxed)
        return make()
    }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in
            for (name, family) in state.families {
                guard let labels = family.series.first(where: { $0.value === handler })?.key else { continue }
                state.families[name]?.series[labels] = nil
                state.seriesCount -= 1
                if state.families[name]?.series.isEmpty == true { state.families[name] = nil }
                return
            }
        }
    }
}

extension PrometheusRegistry: MetricsFactory {
    /// Creates a counter of integers.
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(.counter, label, dimensions, make: CounterSeries.init)
    }

    /// Creates a gauge; a recorder that aggregates is not reported.
    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        aggregate ? unreported() : series(.gauge, label, dimensions, make: GaugeSeries.init)
    }

    /// Creates a timer, which is reported as a histogram of seconds.
    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(.histogram, label, dimensions, make: HistogramSeries.init)
    }

    /// Removes the counter; other handles with the same labels are no longer reported.
    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

    /// Removes the gauge.
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    /// Removes the timer.
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    private func unreported() -> NOOPMetricsHandler {
        dropped.wrappingAdd(1, ordering: .relaxed)
        return .instance
    }
}

/// The value of a metric with one set of labels.
protocol PrometheusSeries: AnyObject, Sendable {
    /// Returns the lines of the text format; the labels are in braces, or empty.
    func lines(_ name: String, _ labels: String) -> String
}

/// A counter with one set of labels.
///
/// Negative amounts are ignored. Resets are ignored, too, because Prometheus would interpret them as a restart.
final class CounterSeries: PrometheusSeries, CounterHandler {
    private let count = Atomic<UInt64>(0)

    func increment(by amount: Int64) {
        if amount > 0 { count.wrappingAdd(UInt64(amount), ordering: .relaxed) }
    }

    func reset() {}

    func lines(_ name: String, _ labels: String) -> String {
        "\(name)\(labels) \(count.load(ordering: .relaxed))\n"
    }
}

/// A gauge with one set of labels, which holds the latest value.
final class GaugeSeries: PrometheusSeries, RecorderHandler {
    private let bits = Atomic<UInt64>(0)

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func lines(_ name: String, _ labels: String) -> String {
        "\(name)\(labels) \(PrometheusText.number(Double(bitPattern: bits.load(ordering: .relaxed))))\n"
    }
}
