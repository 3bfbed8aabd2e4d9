// SPDX-License-Identifier: Apache-2.0

/// The type of a metric, as the text format names it.
enum PrometheusKind: String, Hashable, Sendable {
    case counter
    case gauge
    /// A number of values and their sum.
    case summary
}

/// A metric that is read when somebody asks for it.
public struct PrometheusFamily: Sendable {
    /// The name.
    public let name: String
    /// What it means; without it the registry's table is asked.
    public let help: String?
    /// The values, each with other labels.
    public let samples: [PrometheusSample]
    let kind: PrometheusKind

    /// Something that only rises.
    public static func counter(_ name: String, help: String? = nil, _ samples: [PrometheusSample]) -> Self {
        Self(name: PrometheusText.metricName(name), help: help, samples: samples, kind: .counter)
    }

    /// Something that rises and falls.
    public static func gauge(_ name: String, help: String? = nil, _ samples: [PrometheusSample]) -> Self {
        Self(name: PrometheusText.metricName(name), help: help, samples: samples, kind: .gauge)
    }
}

/// One value of a metric.
public struct PrometheusSample: Sendable {
    /// Names and values.
    public let labels: [(String, String)]
    /// The value.
    public let value: Double

    /// A value under some labels.
    public init(_ value: Double, _ labels: [(String, String)] = []) {
        self.value = value
        self.labels = labels
    }
}
