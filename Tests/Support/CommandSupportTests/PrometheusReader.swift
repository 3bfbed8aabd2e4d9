// SPDX-License-Identifier: Apache-2.0

/// A strict parser of Prometheus' text format 0.0.4, as far as the tests need it.
///
/// The lines of a metric must be consecutive, with TYPE before the values, and no line may be repeated.
struct PrometheusReader {
    struct Metric: Hashable {
        var type = ""
        var help: String?
        /// The values by name and labels.
        var samples: [Sample: Double] = [:]
    }

    struct Sample: Hashable {
        let name: String
        let labels: [String: String]
    }

    struct Wrong: Error {
        let line: String
        let reason: String
    }

    private(set) var metrics: [String: Metric] = [:]
    /// The names in the order of the text.
    private(set) var names: [String] = []

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Wrong(line: "", reason: "the last line has no end") }
        for line in text.unicodeScalars.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            let line = String(String.UnicodeScalarView(line))
            do {
                if line.hasPrefix("# ") { try comment(line) } else { try sample(line) }
            } catch let reason as Reason {
                throw Wrong(line: line, reason: reason.text)
            }
        }
    }

    /// Accesses the value of a line.
    subscript(name: String, labels: [String: String]) -> Double? {
        metrics.values.lazy.compactMap { $0.samples[Sample(name: name, labels: labels)] }.first
    }

    /// Accesses the value of a line without labels.
    subscript(name: String) -> Double? { self[name, [:]] }

    private struct Reason: Error {
        let text: String
    }

    private mutating func comment(_ line: String) throws {
        // By bytes: a combining mark after a space would form one character with it.
        let words = line.utf8.split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, Self.isName(words[2], colons: true) else { throw Reason(text: "not a comment of ours") }
        let name = words[2]
        if metrics[name] == nil {
            metrics[name] = Metric()
            names.append(name)
        }
        guard names.last == name, metrics[name]?.samples.isEmpty == true else {
            throw Reason(text: "not before the values")
        }
        switch words[1] {
        case "TYPE":
            guard metrics[name]?.type == "" else { throw Reason(text: "a second type") }
            guard ["counter", "gauge", "summary"].contains(words[3]) else { throw Reason(text: "no type") }
            metrics[name]?.type = words[3]
        case "HELP":
            guard metrics[name]?.help == nil, metrics[name]?.type == "" else { throw Reason(text: "HELP comes first") }
            metrics[name]?.help = try Self.unescaped(words[3], quotes: false)
        default: throw Reason(text: "neither TYPE nor HELP")
        }
    }

    private mutating func sample(_ line: String) throws {
        var rest = line.utf8[...]
        let name = String(decoding: rest.prefix { $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: " ") }, as: UTF8.self)
        guard Self.isName(name, colons: true) else { throw Reason(text: "not a name") }
        rest = rest.dropFirst(name.utf8.count)
        var labels: [String: String] = [:]
        if rest.first == UInt8(ascii: "{") { (labels, rest) = try Self.labels(rest.dropFirst()) }
        guard rest.popFirst() == UInt8(ascii: " "), let value = Self.number(String(decoding: rest, as: UTF8.self))
        else {
            throw Reason(text: "not a number")
        }
        guard let family = names.last, let type = metrics[family]?.type, !type.isEmpty else {
            throw Reason(text: "no TYPE")
        }
        let allowed = type == "summary" ? ["\(family)_sum", "\(family)_count"] : [family]
        guard allowed.contains(name) else { throw Reason(text: "not of the metric above") }
        if type == "counter" || name == "\(family)_count", !(value >= 0) { throw Reason(text: "below zero") }
        guard metrics[family]?.samples.updateValue(value, forKey: Sample(name: name, labels: labels)) == nil else {
            throw Reason(text: "twice")
        }
    }

    private typealias Bytes = Substring.UTF8View

    private static func labels(_ text: Bytes) throws -> ([String: String], Bytes) {
        var rest = text
        var labels: [String: String] = [:]
        while true {
            let name = String(decoding: rest.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            guard isName(name, colons: false) else { throw Reason(text: "not a label") }
            rest = rest.dropFirst(name.utf8.count)
            guard rest.starts(with: "=\"".utf8) else { throw Reason(text: "no quote") }
            rest = rest.dropFirst(2)
            var value: [UInt8] = []
            var isEscaped = false
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "\""), !isEscaped { break }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                value.append(byte)
            }
            let text = try unescaped(String(decoding: value, as: UTF8.self), quotes: true)
            guard labels.updateValue(text, forKey: name) == nil else { throw Reason(text: "a label twice") }
            switch rest.popFirst() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "}"): return (labels, rest)
            default: throw Reason(text: "the labels do not end")
            }
        }
    }

    private static func unescaped(_ text: String, quotes: Bool) throws -> String {
        var output = String.UnicodeScalarView()
        var scalars = text.unicodeScalars[...]
        while let scalar = scalars.popFirst() {
            guard scalar == "\\" else {
                output.append(scalar)
                continue
            }
            switch scalars.popFirst() {
            case "\\": output.append("\\")
            case "n": output.append("\n")
            case "\"" where quotes: output.append("\"")
            default: throw Reason(text: "an escape that there is not")
            }
        }
        return String(output)
    }

    private static func number(_ text: String) -> Double? {
        switch text {
        case "NaN": .nan
        case "+Inf": .infinity
        case "-Inf": -.infinity
        default: text.utf8.allSatisfy { "0123456789+-.e".utf8.contains($0) } ? Double(text) : nil
        }
    }

    private static func isName(_ text: String, colons: Bool) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_" + (colons ? ":" : "")
        return text.utf8.allSatisfy { letters.utf8.contains($0) }
    }
}
