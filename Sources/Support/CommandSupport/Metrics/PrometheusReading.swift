// SPDX-License-Identifier: Apache-2.0

/// The type of a metric, as named by the text format.
enum PrometheusKind: String, Hashable, Sendable {
    case counter
    case gauge
    case histogram
}

/// A metric without labels that is read at each request.
package struct PrometheusReading: Sendable {
    /// The name.
    package let name: String
    /// The help text.
    package let help: String
    /// The value.
    package let value: Double
    let kind: PrometheusKind

    /// Returns a metric that only rises.
    package static func counter(_ name: String, help: String, _ value: Double) -> Self {
        Self(name: name, help: help, value: value, kind: .counter)
    }

    /// Returns a metric that rises and falls.
    package static func gauge(_ name: String, help: String, _ value: Double) -> Self {
        Self(name: name, help: help, value: value, kind: .gauge)
    }
}
