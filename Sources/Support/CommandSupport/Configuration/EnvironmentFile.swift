// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridProgram

/// A file of `NAME=value` lines, as systemd.exec(5) describes it for `EnvironmentFile=`.
///
/// Every file that is accepted here means the same to systemd. Input that systemd skips silently, or reads differently
/// in different versions, is an error here. Examples are a line without `=`, text after a closing quote, an unclosed
/// quote, a repeated name, and a comment that ends with a backslash.
package struct EnvironmentFile: Hashable, Sendable {
    /// An assignment on one line, or on several lines if the value is continued.
    package struct Assignment: Hashable, Sendable {
        /// The text before the `=`.
        package let name: String
        /// The value, without quotes and escapes.
        package let value: String
        /// The line number of the name, from 1.
        package let line: Int
    }

    /// An error in a file.
    package struct ParseError: Error, Hashable, Sendable {
        /// The line number, from 1.
        package let line: Int
        /// The cause, which follows text such as `line 7: `; it may contain names from the file but no values.
        package let reason: String
    }

    /// Maximum size of a file in bytes.
    package static let maximumSize = 65_536

    /// The assignments in the order of the file, with unique names.
    package let assignments: [Assignment]

    /// Parses the content of a file.
    package init(_ bytes: [UInt8]) throws(ParseError) {
        guard bytes.count <= Self.maximumSize else {
            throw ParseError(line: 1, reason: "the file has more than \(Self.maximumSize) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let wrong = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
            throw ParseError(line: wrong + 1, reason: "the text is not UTF-8")
        }
        var reader = EnvironmentFileReader(text)
        assignments = try reader.read()
    }

    /// Parses the content of the file at `path`.
    ///
    /// - Throws: ``CommandFailure`` with the path and the line.
    package static func assignments(_ bytes: [UInt8], path: String) throws(CommandFailure) -> [Assignment] {
        do throws(ParseError) {
            return try EnvironmentFile(bytes).assignments
        } catch {
            throw CommandFailure("\(path) line \(error.line): \(error.reason)", status: .configuration)
        }
    }

    /// Returns an assignment as a line with its newline, or `nil` if the format can't express it.
    package static func line(_ name: String, _ value: String) -> String? {
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
        guard let first = text.unicodeScalars.first, !("0"..."9").contains(first) else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_": true
            default: false
            }
        }
    }

    /// Returns true except for NUL, the byte order mark and noncharacters.
    static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0, 0xFEFF, 0xFDD0...0xFDEF: false
        default: scalar.value & 0xFFFE != 0xFFFE
        }
    }
}
