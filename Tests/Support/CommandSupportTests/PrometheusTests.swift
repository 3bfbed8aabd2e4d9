// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import TestSupport
import Testing

@testable import HybridCommandSupport

@Suite("Metrics in the format of Prometheus")
struct PrometheusTests {
    @Test("the text, byte for byte")
    func text() {
        let registry = PrometheusRegistry(help: ["b_total": "Bees,\nand \\ \"more\"."])
        Counter(label: "b_total", dimensions: [("z", "1"), ("a", "x")], factory: registry).increment(by: 3)
        Counter(label: "b_total", dimensions: [("a", "q\"\\\n"), ("z", "1")], factory: registry).increment()
        Gauge(label: "a", factory: registry).record(1.5)
        #expect(
            registry.render() == """
                # TYPE a gauge
                a 1.5
                # HELP b_total Bees,\\nand \\\\ "more".
                # TYPE b_total counter
                b_total{a="q\\"\\\\\\n",z="1"} 1
                b_total{a="x",z="1"} 3
                # HELP metrics_series_dropped_total Requests for a series that was dropped: there were too many, or its name has a \
                different type.
                # TYPE metrics_series_dropped_total counter
                metrics_series_dropped_total 0

                """
        )
    }

    @Test("each kind of metric has its type and value")
    func kinds() throws {
        let registry = PrometheusRegistry()
        let counter = Counter(label: "c_total", factory: registry)
        counter.increment(by: 5)
        counter.increment(by: -3)
        counter.reset()
        let gauge = Gauge(label: "g", factory: registry)
        gauge.record(7)
        gauge.record(-1.0)
        // A kind that is not kept; none of its calls may fail.
        Recorder(label: "r", dimensions: [("a", "b")], factory: registry).record(1.5)
        let timer = Timer(label: "t", factory: registry)
        timer.recordSeconds(2)
        timer.destroy()
        let read = try PrometheusReader(registry.render())
        #expect(
            read.metrics.mapValues(\.type) == [
                "c_total": "counter", "g": "gauge", PrometheusRegistry.droppedSeriesName: "counter",
            ]
        )
        #expect(read["c_total"] == 5)
        #expect(read["g"] == -1)
        #expect(read[PrometheusRegistry.droppedSeriesName] == 1)
    }

    @Test("a timer is a histogram of seconds, whose buckets include the smaller ones")
    func histogram() throws {
        let registry = PrometheusRegistry(help: ["t_seconds": "Times."])
        let timer = Timer(label: "t_seconds", dimensions: [("stage", "a\"b")], factory: registry)
        for time in [1_000_000, 1_000_001, 50_000_000, 20_000_000_000, -1] as [Int64] { timer.recordNanoseconds(time) }
        let lines = registry.render().split(separator: "\n")
        for line in [
            "# HELP t_seconds Times.", "# TYPE t_seconds histogram", #"t_seconds_bucket{stage="a\"b",le="0.001"} 1"#,
            #"t_seconds_bucket{stage="a\"b",le="0.0025"} 2"#, #"t_seconds_bucket{stage="a\"b",le="0.05"} 3"#,
            #"t_seconds_bucket{stage="a\"b",le="10"} 3"#, #"t_seconds_bucket{stage="a\"b",le="+Inf"} 4"#,
            #"t_seconds_sum{stage="a\"b"} 20.052000001"#, #"t_seconds_count{stage="a\"b"} 4"#,
        ] { #expect(lines.contains { $0 == line }, "\(line)") }
        Timer(label: "plain", factory: registry).recordSeconds(2)
        #expect(registry.render().contains("plain_bucket{le=\"2.5\"} 1\n"))
        #expect(registry.render().contains("plain_sum 2\nplain_count 1\n"))
    }

    @Test("not-a-number, infinity and large numbers")
    func numbers() throws {
        let registry = PrometheusRegistry()
        let values: [(String, Double)] = [
            ("nan", .nan), ("up", .infinity), ("down", -.infinity), ("tiny", 1e-300), ("huge", 1e300), ("zero", -0.0),
            ("whole", 9_007_199_254_740_992), ("time", 1_790_000_000.25),
        ]
        for (name, value) in values { Gauge(label: name, factory: registry).record(value) }
        Counter(label: "c", factory: registry).increment(by: Int64.max)
        let text = registry.render()
        let read = try PrometheusReader(text)
        for (name, value) in values {
            #expect(read[name] == value || (value.isNaN && read[name]?.isNaN == true), "\(name)")
        }
        #expect(text.contains("\nnan NaN\n") && text.contains("\nup +Inf\n") && text.contains("\ndown -Inf\n"))
        #expect(text.hasPrefix("# TYPE c counter\nc 9223372036854775807\n"))
    }

    @Test(
        "the order of labels does not matter; of equal names the first counts; invalid characters of names are replaced"
    )
    func labels() throws {
        let registry = PrometheusRegistry()
        Counter(label: "c", dimensions: [("a", "1"), ("b", "2")], factory: registry).increment()
        Counter(label: "c", dimensions: [("b", "2"), ("a", "1"), ("a", "3")], factory: registry).increment()
        Counter(label: "9 lives.left:now", dimensions: [("0:x-y", "v"), ("ä", "ö")], factory: registry).increment()
        Counter(label: "", dimensions: [("", "")], factory: registry).increment()
        let read = try PrometheusReader(registry.render())
        #expect(read.metrics["c"]?.samples.count == 1)
        #expect(read["c", ["a": "1", "b": "2"]] == 2)
        #expect(read["_9_lives_left:now", ["_0_x_y": "v", "__": "ö"]] == 1)
        #expect(read["_", ["_": ""]] == 1)
    }

    @Test("any label value and any help text survives")
    func anyText() throws {
        var random = SeededGenerator()
        for _ in 0..<500 {
            let (value, help) = (random.text(), random.text())
            let registry = PrometheusRegistry(help: ["c": help])
            Counter(label: "c", dimensions: [("v", value), ("w", "end")], factory: registry).increment(by: 7)
            let read = try PrometheusReader(registry.render())
            let label = read.metrics["c"]?.samples.first?.key.labels["v"]
            #expect(label.map { Array($0.utf8) } == Array(value.utf8), "\(random)")
            #expect(read.metrics["c"]?.help.map { Array($0.utf8) } == Array(help.utf8), "\(random)")
        }
    }

    @Test("beyond the bound new series are dropped and counted, and existing ones continue")
    func bound() throws {
        let registry = PrometheusRegistry(maximumSeries: 3)
        for index in [0, 1, 2, 3, 4, 0, 1, 2, 3, 4] {
            Counter(label: "c", dimensions: [("i", "\(index)")], factory: registry).increment()
        }
        let read = try PrometheusReader(registry.render())
        #expect(read.metrics["c"]?.samples.count == 3)
        for index in 0..<3 { #expect(read["c", ["i": "\(index)"]] == 2) }
        #expect(read[PrometheusRegistry.droppedSeriesName] == 4)
    }

    @Test("a destroyed series is removed and frees its place")
    func destroy() throws {
        let registry = PrometheusRegistry(maximumSeries: 1)
        let first = Counter(label: "c", factory: registry)
        first.increment()
        first.destroy()
        first.increment()
        #expect(try PrometheusReader(registry.render()).metrics["c"] == nil)
        let second = Gauge(label: "c", factory: registry)
        second.record(2)
        #expect(try PrometheusReader(registry.render())["c"] == 2)
        second.destroy()
        second.destroy()
        Gauge(label: "g", factory: registry).record(1)
        #expect(try PrometheusReader(registry.render())["g"] == 1)
    }

    @Test("a name belongs to one type")
    func conflicts() throws {
        let registry = PrometheusRegistry()
        Counter(label: "x", factory: registry).increment()
        Gauge(label: "x", factory: registry).record(9)
        Counter(label: PrometheusRegistry.droppedSeriesName, factory: registry).increment(by: 100)
        let read = try PrometheusReader(registry.render())
        #expect(read["x"] == 1)
        #expect(Set(read.names) == ["x", PrometheusRegistry.droppedSeriesName])
        #expect(read[PrometheusRegistry.droppedSeriesName] == 2)
    }

    @Test("collected metrics are sorted among the others; registered ones override collected ones of the same name")
    func collectors() throws {
        let registry = PrometheusRegistry()
        Counter(label: "c", factory: registry).increment()
        registry.addCollector {
            [.gauge("b", help: "of its own", 2), .counter("d", help: "", 4), .gauge("c", help: "not shown", 9)]
        }
        let read = try PrometheusReader(registry.render())
        #expect(read.names == ["b", "c", "d", PrometheusRegistry.droppedSeriesName])
        #expect(read["b"] == 2)
        #expect(read.metrics["b"]?.help == "of its own")
        #expect(read["d"] == 4)
        #expect(read["c"] == 1)
    }

    @Test("nothing is lost when several threads count, create series and render concurrently")
    func threads() async throws {
        let registry = PrometheusRegistry()
        let (tasks, rounds) = (8, 20_000)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    let counter = Counter(label: "c", factory: registry)
                    let gauge = Gauge(label: "g", factory: registry)
                    for round in 0..<rounds {
                        counter.increment()
                        gauge.record(7)
                        if round % 1000 == 0 {
                            let labels = [("round", "\(round)")]
                            Counter(label: "d", dimensions: labels, factory: registry).increment()
                            if task == 0 { #expect(throws: Never.self) { try PrometheusReader(registry.render()) } }
                        }
                    }
                }
            }
        }
        let read = try PrometheusReader(registry.render())
        let all = Double(tasks * rounds)
        #expect(read["c"] == all)
        #expect(read["g"] == 7)
        #expect(read.metrics["d"]?.samples.count == rounds / 1000)
        #expect(read.metrics["d"]?.samples.values.allSatisfy { $0 == Double(tasks) } == true)
    }

    @Test(
        "the tests' own parser rejects what the format does not allow",
        arguments: [
            "a 1\n", "# TYPE a counter\na 1", "# TYPE a counter\na 1\na 1\n", "# TYPE a counter\na -1\n",
            "# TYPE a timer\na 1\n",
            "# TYPE a gauge\nb 1\n", "# TYPE a gauge\na{b=1} 1\n", "# TYPE a gauge\na{b=\"1\" 1\n",
            "# TYPE a gauge\na one\n",
            "# TYPE a gauge\na{1b=\"\"} 1\n", "# TYPE a gauge\na{b=\"\\x\"} 1\n",
            "# TYPE a gauge\n# TYPE a gauge\na 1\n",
            "# TYPE a gauge\n# HELP a b\na 1\n", "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\na{x=\"y\"} 1\n",
            "# TYPE a summary\na 1\n",
            "# TYPE a gauge\na{b=\"1\",b=\"2\"} 1\n", "# TYPE a gauge\na  1\n", "# TYPE a gauge\n\na 1\n",
            "# TYPE ä gauge\nä 1\n",
        ]
    )
    func readerIsStrict(text: String) {
        #expect(throws: PrometheusReader.Wrong.self) { try PrometheusReader(text) }
    }
}
