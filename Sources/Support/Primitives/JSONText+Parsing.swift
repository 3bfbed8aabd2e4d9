// SPDX-License-Identifier: Apache-2.0

/// A reason why bytes are not strict JSON.
package struct JSONSyntaxError: Error, Hashable, Sendable {
    /// The bytes are not UTF-8, or not exactly one JSON value (RFC 8259).
    package static let malformed = JSONSyntaxError(reason: "it is not JSON")
    /// An object has two members of one name, which programs would read differently (RFC 7493 §2.3).
    package static let repeatedName = JSONSyntaxError(reason: "a member appears twice")
    /// Arrays and objects are nested more than ``JSONText/maximumDepth`` times.
    package static let tooDeep = JSONSyntaxError(reason: "it is nested too deeply")

    /// A clause for error messages, which contains no part of the input.
    package let reason: String
}

extension JSONText {
    /// Maximum nesting of arrays and objects in parsed values.
    package static let maximumDepth = 64

    /// Creates a value from strict JSON: UTF-8 without a byte order mark, with unique names and paired surrogates.
    ///
    /// Numbers keep their text, because a conversion could change them. The caller limits the length.
    package init(parsing bytes: [UInt8]) throws(JSONSyntaxError) {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed }
        var parser = JSONParser(rest: bytes[...])
        self = try parser.document()
    }

    /// Returns the member of an object; `nil` for other values and other names.
    package func member(_ name: String) -> JSONText? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.0.utf8.elementsEqual(name.utf8) }?.1
    }

    /// The text of a string; `nil` for other values.
    package var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The elements of an array; `nil` for other values.
    package var elements: [JSONText]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// True if the value is an object.
    package var isObject: Bool {
        guard case .object = self else { return false }
        return true
    }
}

/// A parser of JSON text whose bytes are valid UTF-8.
private struct JSONParser {
    private var rest: ArraySlice<UInt8>
    private var depth = 0

    init(rest: ArraySlice<UInt8>) { self.rest = rest }

    mutating func document() throws(JSONSyntaxError) -> JSONText {
        let value = try value()
        skipSpace()
        guard rest.isEmpty else { throw .malformed }
        return value
    }

    private mutating func value() throws(JSONSyntaxError) -> JSONText {
        skipSpace()
        switch rest.first {
        case UInt8(ascii: "{"): return try nested { (parser) throws(JSONSyntaxError) in try parser.object() }
        case UInt8(ascii: "["): return try nested { (parser) throws(JSONSyntaxError) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .boolean(true))
        case UInt8(ascii: "f"): return try literal("false", .boolean(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    private mutating func nested(
        _ body: (inout JSONParser) throws(JSONSyntaxError) -> JSONText
    ) throws(JSONSyntaxError) -> JSONText {
        guard depth < JSONText.maximumDepth else { throw .tooDeep }
        depth += 1
        defer { depth -= 1 }
        rest.removeFirst()
        return try body(&self)
    }

    private mutating func object() throws(JSONSyntaxError) -> JSONText {
        var members: [(String, JSONText)] = []
        // Bytes, because strings compare by canonical equivalence.
        var names: Set<[UInt8]> = []
        guard !take("}") else { return .object([]) }
        repeat {
            skipSpace()
            guard rest.first == UInt8(ascii: "\"") else { throw .malformed }
            let name = try string()
            guard names.insert(Array(name.utf8)).inserted else { throw .repeatedName }
            guard take(":") else { throw .malformed }
            members.append((name, try value()))
        } while take(",")
        guard take("}") else { throw .malformed }
        return .object(members)
    }

    private mutating func array() throws(JSONSyntaxError) -> JSONText {
        var elements: [JSONText] = []
        guard !take("]") else { return .array([]) }
        repeat { elements.append(try value()) } while take(",")
        guard take("]") else { throw .malformed }
        return .array(elements)
    }

    private mutating func literal(_ word: String, _ value: JSONText) throws(JSONSyntaxError) -> JSONText {
        guard rest.starts(with: word.utf8) else { throw .malformed }
        rest.removeFirst(word.utf8.count)
        return value
    }

    private mutating func number() throws(JSONSyntaxError) -> JSONText {
        let start = rest
        _ = takeByte("-")
        if !takeByte("0") { guard digits() > 0 else { throw .malformed } }
        if takeByte(".") { guard digits() > 0 else { throw .malformed } }
        if takeByte("e") || takeByte("E") {
            if !takeByte("+") { _ = takeByte("-") }
            guard digits() > 0 else { throw .malformed }
        }
        return .numeral(String(decoding: start[..<rest.startIndex], as: UTF8.self))
    }

    private mutating func digits() -> Int {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest[digits.endIndex...]
        return digits.count
    }

    // MARK: - Strings

    private mutating func string() throws(JSONSyntaxError) -> String {
        rest.removeFirst()
        var content: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\"): content += try escape().utf8
            case 0..<0x20: throw .malformed
            default: content.append(byte)
            }
        }
        throw .malformed
    }

    private mutating func escape() throws(JSONSyntaxError) -> String {
        switch rest.popFirst() {
        case UInt8(ascii: "\"")?: return "\""
        case UInt8(ascii: "\\")?: return "\\"
        case UInt8(ascii: "/")?: return "/"
        case UInt8(ascii: "b")?: return "\u{8}"
        case UInt8(ascii: "f")?: return "\u{C}"
        case UInt8(ascii: "n")?: return "\n"
        case UInt8(ascii: "r")?: return "\r"
        case UInt8(ascii: "t")?: return "\t"
        case UInt8(ascii: "u")?:
            var units = [try codeUnit()]
            if UTF16.isLeadSurrogate(units[0]) {
                guard takeByte("\\"), takeByte("u") else { throw .malformed }
                units.append(try codeUnit())
            }
            // Unpaired surrogates are characters in no encoding.
            guard let text = String(validating: units, as: UTF16.self) else { throw .malformed }
            return text
        default: throw .malformed
        }
    }

    private mutating func codeUnit() throws(JSONSyntaxError) -> UInt16 {
        let digits = rest.prefix(4)
        guard let unit = Hex.decode(digits, length: 2) else { throw .malformed }
        rest = rest[digits.endIndex...]
        return UInt16(unit[0]) << 8 | UInt16(unit[1])
    }

    // MARK: - Bytes

    private mutating func skipSpace() {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }

    /// Skips white space and takes a character; returns false if another one follows.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        return takeByte(character)
    }

    private mutating func takeByte(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }
}
