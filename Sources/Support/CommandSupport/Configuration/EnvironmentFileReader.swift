// SPDX-License-Identifier: Apache-2.0

/// The parser of an ``EnvironmentFile``.
struct EnvironmentFileReader {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var line = 1

    private typealias ParseError = EnvironmentFile.ParseError

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    mutating func read() throws(EnvironmentFile.ParseError) -> [EnvironmentFile.Assignment] {
        try checkCharacters()
        var assignments: [EnvironmentFile.Assignment] = []
        var lineOfName: [String: Int] = [:]
        while let scalar = current {
            switch scalar {
            case " ", "\t", "\n", "\r": try advanceUnquoted()
            case "#", ";": try skipComment()
            default:
                let start = line
                let name = try readName()
                if let first = lineOfName.updateValue(start, forKey: name) {
                    throw ParseError(line: start, reason: "\(name) was already given in line \(first)")
                }
                let value = try readValue()
                assignments.append(EnvironmentFile.Assignment(name: name, value: value, line: start))
            }
        }
        return assignments
    }

    private var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private var following: Unicode.Scalar? { position + 1 < scalars.count ? scalars[position + 1] : nil }

    private mutating func advance() {
        if current == "\n" { line += 1 }
        position += 1
    }

    private func checkCharacters() throws(EnvironmentFile.ParseError) {
        guard let wrong = scalars.firstIndex(where: { !EnvironmentFile.isAllowed($0) }) else { return }
        let code = String(scalars[wrong].value, radix: 16, uppercase: true)
        let line = scalars[..<wrong].count { $0 == "\n" } + 1
        throw ParseError(line: line, reason: "the character U+\(code) is not allowed")
    }

    /// Advances outside quotes, where a carriage return is allowed only at the end of a line.
    ///
    /// Inside a line, systemd would read it as the end of the line.
    private mutating func advanceUnquoted() throws(EnvironmentFile.ParseError) {
        guard current != "\r" || isLineEnd else {
            throw ParseError(line: line, reason: "a carriage return is not allowed within a line")
        }
        advance()
    }

    /// True if the rest of the line is empty.
    private var isLineEnd: Bool {
        switch current {
        case nil, "\n": true
        case "\r": following == nil || following == "\n"
        default: false
        }
    }

    private mutating func skipComment() throws(EnvironmentFile.ParseError) {
        var last: Unicode.Scalar?
        while let scalar = current, !isLineEnd {
            last = scalar
            try advanceUnquoted()
        }
        // Before systemd 254, the next line belonged to such a comment; since then, it does not.
        if last == "\\" { throw ParseError(line: line, reason: "a comment must not end with a backslash") }
    }

    private mutating func readName() throws(EnvironmentFile.ParseError) -> String {
        let start = position
        while current != "=", !isLineEnd { advance() }
        let name = String(String.UnicodeScalarView(scalars[start..<position]))
        guard current == "=", EnvironmentFile.isName(name) else {
            throw ParseError(line: line, reason: "expected NAME=value, without spaces before the =")
        }
        advance()
        return name
    }

    private mutating func readValue() throws(EnvironmentFile.ParseError) -> String {
        skipBlanks()
        guard let quote = current, quote == "'" || quote == "\"" else { return try readPlain() }
        return try readQuoted(by: quote)
    }

    private mutating func skipBlanks() {
        while current == " " || current == "\t" { advance() }
    }

    private mutating func readQuoted(by quote: Unicode.Scalar) throws(EnvironmentFile.ParseError) -> String {
        let start = line
        var value = String.UnicodeScalarView()
        advance()
        while let scalar = current, scalar != quote {
            advance()
            guard quote == "\"", scalar == "\\", let escaped = current else {
                value.append(scalar)
                continue
            }
            advance()
            switch escaped {
            case "\"", "\\", "`", "$": value.append(escaped)
            case "\n": break
            default:
                value.append(scalar)
                value.append(escaped)
            }
        }
        guard current == quote else {
            throw ParseError(line: start, reason: "the quote that opens here is never closed")
        }
        advance()
        skipBlanks()
        guard isLineEnd else { throw ParseError(line: line, reason: "nothing may follow the closing quote") }
        return String(value)
    }

    /// Reads an unquoted value; blanks at its end are dropped, unless a backslash precedes or follows them.
    private mutating func readPlain() throws(EnvironmentFile.ParseError) -> String {
        var value: [Unicode.Scalar] = []
        var kept = 0
        while let scalar = current, !isLineEnd {
            try advanceUnquoted()
            guard scalar == "\\" else {
                value.append(scalar)
                continue
            }
            // A continued line at the end of the file was probably truncated.
            guard let escaped = current, escaped != "\r", escaped != "\n" || following != nil else {
                throw ParseError(line: line, reason: "nothing follows the backslash")
            }
            advance()
            if escaped != "\n" { value.append(escaped) }
            kept = value.count
        }
        while value.count > kept, value.last == " " || value.last == "\t" { value.removeLast() }
        return String(String.UnicodeScalarView(value))
    }
}
