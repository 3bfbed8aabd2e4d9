// SPDX-License-Identifier: Apache-2.0

/// A file of `NAME=value` lines, as systemd's `EnvironmentFile=` describes it in systemd.exec(5).
///
/// Every file that is taken here means the same to systemd. What systemd skips in silence or reads differently from
/// version to version (a line without `=`, text after a closing quote, a quote that is never closed, a name given
/// twice, a comment that ends with a backslash) is a mistake here.
public struct EnvironmentFile: Hashable, Sendable {
    /// One line, or several where a value goes on.
    public struct Assignment: Hashable, Sendable {
        /// What stands before the `=`.
        public let name: String
        /// The value, without quotes and escapes.
        public let value: String
        /// The line of the name, counted from 1.
        public let line: Int
    }

    /// What is wrong with a file.
    public struct Mistake: Error, Hashable, Sendable {
        /// The line, counted from 1.
        public let line: Int
        /// Completes `… line 7: `; holds nothing of the file but names.
        public let reason: String
    }

    /// The longest file that is read.
    public static let maximumSize = 65_536

    /// What it says, in its order; no name twice.
    public let assignments: [Assignment]

    /// Reads a file's bytes.
    public init(_ bytes: [UInt8]) throws(Mistake) {
        guard bytes.count <= Self.maximumSize else {
            throw Mistake(line: 1, reason: "the file has more than \(Self.maximumSize) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let wrong = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
            throw Mistake(line: wrong + 1, reason: "the text is not UTF-8")
        }
        var reader = EnvironmentFileReader(text)
        assignments = try reader.read()
    }

    /// A line that reads as this name and value; `nil` if the format has no way to say them.
    public static func line(_ name: String, _ value: String) -> String? {
        guard isName(name), value.unicodeScalars.allSatisfy(isAllowed) else { return nil }
        let isPlain = value.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_", "-", "+", ".", ",", ":", "/", "@", "%", "[", "]": true
            default: false
            }
        }
        if isPlain { return "\(name)=\(value)\n" }
        var quoted = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            if scalar == "\"" || scalar == "\\" || scalar == "`" || scalar == "$" { quoted.append("\\") }
            quoted.append(scalar)
        }
        return "\(name)=\"\(String(quoted))\"\n"
    }

    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }

    /// Everything but NUL, the byte order mark and the code points that are no characters.
    static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0, 0xFEFF, 0xFDD0...0xFDEF: false
        default: scalar.value & 0xFFFE != 0xFFFE
        }
    }
}
