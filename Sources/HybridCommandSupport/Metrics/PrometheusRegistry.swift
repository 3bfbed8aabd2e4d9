// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
internal import HybridThreads
private import Synchronization

/// A registry of a program's metrics, which writes them in the format of Prometheus.
///
/// Counting takes no lock. The number of series is bounded: beyond the bound, callers get detached metrics that are not
/// reported, and `metrics_series_dropped_total` counts them. The same happens to a metric whose name already belongs to
/// another type.
public final class PrometheusRegistry: Sendable {
    /// The `Content-Type` of ``render()``.
    public static let contentType = "text/plain; version=0.0.4"
    /// The name of the counter of series that were not kept.
    public static let droppedSeriesName = "metrics_series_dropped_total"

    private struct State {
        var families: [String: Family] = [:]
        var seriesCount = 0
        var collectors: [@Sendable () -> [PrometheusFamily]] = []
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
    ///   - help: The help texts by the names of metrics.
    ///   - maximumSeries: The greatest number of series of all metrics together.
    public init(help: [String: String] = [:], maximumSeries: Int = 1000) {
        self.help = help
        self.maximumSeries = maximumSeries
        state = Locked(State())
    }

    /// Adds metrics that are read at each rendering, on the thread that renders.
    public func addCollector(_ collect: @escaping @Sendable () -> [PrometheusFamily]) {
        state.withLock { $0.collectors.append(collect) }
    }

    /// Returns all metrics in the text format 0.0.4, sorted by name and labels.
    public func render() -> String {
        let (families, collectors) = state.withLock { ($0.families, $0.collectors) }
        var all: [String: PrometheusFamily] = [
            Self.droppedSeriesName: .counter(
                Self.droppedSeriesName,
                help: "Requests for a series that was not kept: too many, or its name is another type's.",
                [PrometheusSample(Double(dropped.load(ordering: .relaxed)))]
            )
        ]
        for collect in collectors {
            for family in collect() where families[family.name] == nil { all[family.name] = family }
        }
        var texts = all.mapValues { PrometheusText.family($0, help: $0.help ?? help[$0.name]) }
        for (name, family) in families {
            var text = PrometheusText.head(name, family.kind, help: help[name])
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                for sample in series.samples { text += "\(name)\(sample.suffix)\(labels) \(sample.value)\n" }
            }
            texts[name] = text
        }
        return texts.sorted { $0.key < $1.key }.map(\.value).joined()
    }

    /// Returns the series of a name and labels, creating it if needed; a detached one if it can't be kept.
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
            } else if collides(name, kind, with: state.families) {
                return nil
            }
            guard state.seriesCount < maximumSeries else { return nil }
            let series = make()
            state.families[name, default: Family(kind: kind)].series[labels] = series
            state.seriesCount += 1
            return series
        }
        if let kept { return kept }
        dropped.wrappingAdd(1, ordering: .relaxed)
        return make()
    }

    /// Returns true if a name is also a line of another metric: a summary `x` has the lines `x_sum` and `x_count`.
    private func collides(_ name: String, _ kind: PrometheusKind, with families: [String: Family]) -> Bool {
        if name == Self.droppedSeriesName { return true }
        for suffix in ["_sum", "_count"] {
            if kind == .summary, families[name + suffix] != nil { return true }
            if name.hasSuffix(suffix), families[String(name.dropLast(suffix.count))]?.kind == .summary { return true }
        }
        return false
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
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(.counter, label, dimensions, make: CounterSeries.init)
    }

    /// Creates a counter of decimals; it shares its value with the integer counter of the same name and labels.
    public func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(.counter, label, dimensions, make: CounterSeries.init)
    }

    /// Creates a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(.gauge, label, dimensions, make: GaugeSeries.init)
    }

    /// Creates a gauge, or, to aggregate, a summary of number and sum.
    public func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate { return series(.summary, label, dimensions, make: SummarySeries.init) }
        return series(.gauge, label, dimensions, make: GaugeSeries.init)
    }

    /// Creates a summary of the number of durations and their sum in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(.summary, label, dimensions, make: SummarySeries.init)
    }

    /// Removes the counter; other handles with the same labels are no longer reported.
    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

    /// Removes the counter; other handles with the same labels are no longer reported.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }

    /// Removes the gauge.
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

    /// Removes the gauge or summary.
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    /// Removes the summary.
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}
