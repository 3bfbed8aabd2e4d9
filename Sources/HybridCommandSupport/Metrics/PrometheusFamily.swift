// SPDX-License-Identifier: Apache-2.0

/// The type of a metric, as named by the text format.
enum PrometheusKind: String, Hashable, Sendable {
    case counter
    case gauge
    /// A number of values and their sum.
    case summary
}

/// A metric that is read at each request.
public struct PrometheusFamily: Sendable {
    /// The name.
    public let name: String
    /// The help text; by default that of the registry's table.
    public let help: String?
    /// The values, with different labels each.
    public let samples: [PrometheusSample]
    let kind: PrometheusKind

    /// Returns a metric that only rises.
    public static func counter(_ name: String, help: String? = nil, _ samples: [PrometheusSample]) -> Self {
        Self(name: PrometheusText.metricName(name), help: help, samples: samples, kind: .counter)
    }

    /// Returns a metric that rises and falls.
    public static func gauge(_ name: String, help: String? = nil, _ samples: [PrometheusSample]) -> Self {
        Self(name: PrometheusText.metricName(name), help: help, samples: samples, kind: .gauge)
    }
}

/// One value of a metric.
public struct PrometheusSample: Sendable {
    /// The names and values of the labels.
    public let labels: [(String, String)]
    /// The value.
    public let value: Double

    /// Creates a value with labels.
    public init(_ value: Double, _ labels: [(String, String)] = []) {
        self.value = value
        self.labels = labels
    }
}
