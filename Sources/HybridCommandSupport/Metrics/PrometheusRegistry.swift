// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
internal import HybridThreads
private import Synchronization

/// Keeps a program's metrics and writes them out as Prometheus reads them.
///
/// Counting takes no lock. The number of series is bounded: a caller that makes up labels gets, past the bound,
/// metrics that count for nobody, and `metrics_series_dropped_total` says so. The same happens to a metric whose name
/// is already another type's.
public final class PrometheusRegistry: Sendable {
    /// The `Content-Type` of ``render()``.
    public static let contentType = "text/plain; version=0.0.4"
    /// The counter of series that were not kept.
    public static let droppedSeriesName = "metrics_series_dropped_total"

    private struct State {
        var families: [String: Family] = [:]
        var seriesCount = 0
        var collectors: [@Sendable () -> [PrometheusFamily]] = []
    }

    private struct Family {
        let kind: PrometheusKind
        /// By the labels as they are written.
        var series: [String: any PrometheusSeries] = [:]
    }

    private let state: Locked<State>
    private let dropped = Atomic<UInt64>(0)
    private let help: [String: String]
    private let maximumSeries: Int

    /// A registry without any metrics.
    ///
    /// - Parameters:
    ///   - help: What metrics mean, by their names.
    ///   - maximumSeries: How many series are kept, all metrics together.
    public init(help: [String: String] = [:], maximumSeries: Int = 1000) {
        self.help = help
        self.maximumSeries = maximumSeries
        state = Locked(State())
    }

    /// Adds metrics that are read when somebody asks for them; called on the thread that renders.
    public func addCollector(_ collect: @escaping @Sendable () -> [PrometheusFamily]) {
        state.withLock { $0.collectors.append(collect) }
    }

    /// Every metric in the text format 0.0.4, in the order of names and labels.
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

    /// The series of a name and labels, made if it is not there; a detached one where it cannot be kept.
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

    /// Whether a name is one of the lines of another metric: a summary `x` writes `x_sum` and `x_count`.
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
    /// A counter of whole numbers.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(.counter, label, dimensions, make: CounterSeries.init)
    }

    /// A counter of decimals; one with the same name and labels may count whole numbers, too.
    public func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(.counter, label, dimensions, make: CounterSeries.init)
    }

    /// A gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(.gauge, label, dimensions, make: GaugeSeries.init)
    }

    /// A gauge, or where values are to be put together a summary of their number and sum.
    public func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate { return series(.summary, label, dimensions, make: SummarySeries.init) }
        return series(.gauge, label, dimensions, make: GaugeSeries.init)
    }

    /// A summary of the number of times and their sum in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(.summary, label, dimensions, make: SummarySeries.init)
    }

    /// Forgets the counter; others that count on with the same labels do so for nobody.
    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

    /// Forgets the counter; others that count on with the same labels do so for nobody.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }

    /// Forgets the gauge.
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

    /// Forgets the gauge or summary.
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    /// Forgets the summary.
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}
