// SPDX-License-Identifier: Apache-2.0

/// The type of a metric, as named by the text format.
enum PrometheusKind: String, Hashable, Sendable {
    case counter
    case gauge
}

/// A metric without labels that is read at each request.
public struct PrometheusReading: Sendable {
    /// The name.
    public let name: String
    /// The help text.
    public let help: String
    /// The value.
    public let value: Double
    let kind: PrometheusKind

    /// Returns a metric that only rises.
    public static func counter(_ name: String, help: String, _ value: Double) -> Self {
        Self(name: name, help: help, value: value, kind: .counter)
    }

    /// Returns a metric that rises and falls.
    public static func gauge(_ name: String, help: String, _ value: Double) -> Self {
        Self(name: name, help: help, value: value, kind: .gauge)
    }
}
