// SPDX-License-Identifier: Apache-2.0

/// The text format 0.0.4 of Prometheus.
enum PrometheusText {
    /// Returns the HELP and TYPE lines of a metric.
    static func head(_ name: String, _ kind: PrometheusKind, help: String?) -> String {
        let helpLine = help.map { "# HELP \(name) \(escaped($0, quotes: false))\n" } ?? ""
        return "\(helpLine)# TYPE \(name) \(kind.rawValue)\n"
    }

    /// Returns the labels as they follow the metric's name, sorted by name; of labels with the same name, the first.
    static func labels(_ dimensions: [(String, String)]) -> String {
        guard !dimensions.isEmpty else { return "" }
        var values: [String: String] = [:]
        for (name, value) in dimensions {
            let name = self.name(name, colons: false)
            values[name] = values[name] ?? value
        }
        let parts = values.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value, quotes: true))\"" }
        return "{\(parts.joined(separator: ","))}"
    }

    /// Returns the text as a metric name, with an underscore for each character that is not allowed.
    static func metricName(_ text: String) -> String { name(text, colons: true) }

    private static func name(_ text: String, colons: Bool) -> String {
        let bytes = text.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): byte
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            case UInt8(ascii: ":"): colons ? byte : UInt8(ascii: "_")
            default: UInt8(ascii: "_")
            }
        }
        let mayBegin = bytes.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
        return (mayBegin ? "" : "_") + String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the value in the notation of the format.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if let whole = Int64(exactly: value) { return String(whole) }
        return String(value)
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var output = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": output.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": output.append(contentsOf: "\\n".unicodeScalars)
            case "\"" where quotes: output.append(contentsOf: "\\\"".unicodeScalars)
            default: output.append(scalar)
            }
        }
        return String(output)
    }
}
