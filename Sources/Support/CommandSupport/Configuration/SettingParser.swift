// SPDX-License-Identifier: Apache-2.0

/// A parser of one text, with a description of the accepted form.
package struct SettingParser<Value: Sendable>: Sendable {
    /// The accepted form, such as `a number of seconds`; it completes the sentence `"5m" is not …`.
    package let expected: String
    /// The placeholder for a value in the help of a flag, such as `file`.
    let placeholder: String
    /// Returns the value of a text, or `nil` if the text is not accepted.
    package let parse: @Sendable (String) -> Value?

    /// Creates a parser.
    package init(expected: String, placeholder: String = "value", parse: @escaping @Sendable (String) -> Value?) {
        self.expected = expected
        self.placeholder = placeholder
        self.parse = parse
    }

    func value(of text: String) throws(SettingParseError) -> Value {
        guard let value = parse(text) else { throw SettingParseError(text: text, expected: expected) }
        return value
    }
}

extension SettingParser<String> {
    /// Returns a parser for any text that is not empty.
    package static func text(_ placeholder: String) -> Self {
        SettingParser(expected: "a text", placeholder: placeholder) { $0.isEmpty ? nil : $0 }
    }

    /// Returns a parser for the path of a file or directory.
    package static func path(_ placeholder: String) -> Self {
        SettingParser(expected: "a path", placeholder: placeholder) { $0.isEmpty || $0.utf8.contains(0) ? nil : $0 }
    }

    /// Returns a parser that accepts any of the given words.
    package static func choice(_ words: [String]) -> Self {
        SettingParser(expected: "one of \(words.joined(separator: ", "))", placeholder: words.joined(separator: "|")) {
            words.contains($0) ? $0 : nil
        }
    }
}

extension SettingParser<Bool> {
    /// A parser for Booleans as in systemd: `yes`, `y`, `true`, `t`, `on`, `1`, or `no`, `n`, `false`, `f`, `off`, `0`.
    ///
    /// Case is ignored.
    package static var boolean: Self {
        SettingParser(expected: "yes or no") { text in
            switch text.lowercased() {
            case "1", "yes", "y", "true", "t", "on": true
            case "0", "no", "n", "false", "f", "off": false
            default: nil
            }
        }
    }
}

extension SettingParser<Int> {
    /// Returns a parser for a number in decimal digits, without a sign.
    package static func number(_ range: ClosedRange<Int> = 0...Int.max, _ placeholder: String = "n") -> Self {
        let expected = "a number" + extent(range, of: 0...Int.max) { "\($0)" }
        return SettingParser(expected: expected, placeholder: placeholder) { text in
            digits(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Returns a parser for a number of bytes, optionally with `K`, `M`, `G` (or `KiB`, `MiB`, `GiB`) for powers of
    /// 1,024.
    package static func bytes(_ range: ClosedRange<Int> = 0...Int.max) -> Self {
        let limits = extent(range, of: 0...Int.max, describe: byteText)
        return SettingParser(
            expected: "a number of bytes such as 65536, 64K or 1M" + (limits.isEmpty ? "" : "," + limits),
            placeholder: "bytes"
        ) { text in
            let count = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard let number = digits(String(decoding: count, as: UTF8.self)) else { return nil }
            let factor: Int
            switch String(decoding: text.utf8.dropFirst(count.count), as: UTF8.self) {
            case "": factor = 1
            case "K", "KiB": factor = 1 << 10
            case "M", "MiB": factor = 1 << 20
            case "G", "GiB": factor = 1 << 30
            default: return nil
            }
            let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
            return !overflow && range.contains(bytes) ? bytes : nil
        }
    }
}

extension SettingParser<Duration> {
    /// The default range: about thirty years, so that sums do not overflow.
    private static var anyTime: ClosedRange<Duration> { .zero ... .seconds(1_000_000_000) }

    /// Returns a parser for a number of seconds with up to nine decimal places.
    package static func seconds(_ range: ClosedRange<Duration>? = nil) -> Self {
        let limits = range.map { extent($0, of: anyTime, describe: secondsText) } ?? ""
        return SettingParser(expected: "a number of seconds" + limits, placeholder: "s") { text in
            let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let decimals = parts.count > 1 ? parts[1] : "0"
            guard let whole = digits(parts[0]), (1...9).contains(decimals.utf8.count),
                let nanoseconds = digits(decimals + String(repeating: "0", count: 9 - decimals.utf8.count))
            else { return nil }
            let duration = Duration.seconds(whole) + .nanoseconds(nanoseconds)
            return (range ?? anyTime).contains(duration) ? duration : nil
        }
    }
}

/// Returns the number that a text of ASCII digits represents; `nil` for other text.
private func digits(_ text: String) -> Int? {
    let isDigits = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isDigits ? Int(text) : nil
}

/// Returns a range in words, without the limits that it shares with `whole`.
private func extent<Bound>(
    _ range: ClosedRange<Bound>,
    of whole: ClosedRange<Bound>,
    describe: (Bound) -> String
) -> String {
    switch (range.lowerBound > whole.lowerBound, range.upperBound < whole.upperBound) {
    case (false, false): ""
    case (true, false): " of at least \(describe(range.lowerBound))"
    case (false, true): " up to \(describe(range.upperBound))"
    case (true, true): " from \(describe(range.lowerBound)) to \(describe(range.upperBound))"
    }
}

private func byteText(_ bytes: Int) -> String {
    for (shift, letter) in [(30, "G"), (20, "M"), (10, "K")] where bytes > 0 && bytes % (1 << shift) == 0 {
        return "\(bytes >> shift)\(letter)"
    }
    return "\(bytes)"
}

private func secondsText(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    guard attoseconds > 0 else { return "\(seconds)" }
    let nanoseconds = "\(1_000_000_000 + attoseconds / 1_000_000_000)".dropFirst()
    return "\(seconds)." + String(nanoseconds.reversed().drop { $0 == "0" }.reversed())
}
