// SPDX-License-Identifier: Apache-2.0

/// A reason why bytes are not strict JSON, or exceed a limit.
public struct JSONSyntaxError: Error, Equatable, Sendable {
    /// The bytes are not UTF-8, or not exactly one JSON value (RFC 8259).
    public static let malformed = JSONSyntaxError(reason: "it is not JSON")
    /// Arrays and objects are nested more than ``JSONText/maximumDepth`` times.
    public static let tooDeep = JSONSyntaxError(reason: "it is nested too deeply")
    /// The text is longer than ``JSONText/maximumLength``.
    public static let tooLong = JSONSyntaxError(reason: "it is longer than 16 MiB")

    /// An object has two members of one name, which programs would read differently (RFC 7493 §2.3).
    public static func repeatedName(_ name: String) -> JSONSyntaxError {
        JSONSyntaxError(reason: "the member \(SafeText(quoting: name)) appears twice")
    }

    /// The text has more values than the caller accepts.
    public static func tooManyValues(limit: Int) -> JSONSyntaxError {
        JSONSyntaxError(reason: "it has more than \(limit) values")
    }

    /// A clause for error messages; the only part of the input is the name of a repeated member, made safe to show.
    public let reason: String
    /// Number of bytes before the place where the parser stopped; `nil` if nothing was parsed.
    public internal(set) var offset: Int?

    /// Returns true if the reasons are the same; the place is for messages.
    public static func == (one: JSONSyntaxError, other: JSONSyntaxError) -> Bool { one.reason == other.reason }
}

extension JSONText {
    /// Maximum nesting of arrays and objects in parsed values.
    public static let maximumDepth = 64
    /// Maximum length of parsed text in bytes; most callers have lower limits of their own.
    public static let maximumLength = 16 << 20
    /// Maximum number of parsed values, unless the caller states another.
    public static let maximumValues = 1 << 17

    /// Creates a value from strict JSON: UTF-8, and unique names in each object.
    ///
    /// As in JavaScript's `JSON.parse` with WebIDL's `USVString`, an escaped surrogate without its pair becomes U+FFFD. A
    /// member with one in its name is left out.
    /// Numbers keep their text, because a conversion could change them.
    ///
    /// - Parameters:
    ///   - bytes: The text, of at most ``maximumLength`` bytes.
    ///   - maximumValues: Maximum number of values, because a value of two bytes takes many times as much memory.
    ///   - mayBeMarked: True for files and bodies, which may begin with a byte order mark (RFC 8259 §8.1): editors on
    ///     Windows add it, and browsers ignore it.
    public init(
        parsing bytes: [UInt8],
        maximumValues: Int = maximumValues,
        mayBeMarked: Bool = false
    ) throws(JSONSyntaxError) {
        guard bytes.count <= Self.maximumLength else { throw .tooLong }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed }
        let text = mayBeMarked ? bytes.withoutByteOrderMark : bytes[...]
        var parser = JSONParser(rest: text, maximumValues: maximumValues)
        do throws(JSONSyntaxError) {
            self = try parser.document()
        } catch {
            var error = error
            error.offset = parser.offset
            throw error
        }
    }
}

/// A parser of JSON text whose bytes are valid UTF-8.
private struct JSONParser {
    private var rest: ArraySlice<UInt8>
    private let maximumValues: Int
    private var values = 0
    private var depth = 0

    init(rest: ArraySlice<UInt8>, maximumValues: Int) {
        self.rest = rest
        self.maximumValues = maximumValues
    }

    /// Number of bytes before those that are left.
    var offset: Int { rest.startIndex }

    mutating func document() throws(JSONSyntaxError) -> JSONText {
        let value = try value()
        skipSpace()
        guard rest.isEmpty else { throw .malformed }
        return value
    }

    private mutating func value() throws(JSONSyntaxError) -> JSONText {
        values += 1
        guard values <= maximumValues else { throw .tooManyValues(limit: maximumValues) }
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
        // Bytes, because strings compare by canonical equivalence, and different surrogates become the same character.
        var names: Set<[UInt8]> = []
        guard !take("}") else { return .object([]) }
        repeat {
            skipSpace()
            guard rest.first == UInt8(ascii: "\"") else { throw .malformed }
            let bytes = try content()
            let name = Self.text(bytes)
            guard names.insert(bytes).inserted else { throw .repeatedName(name) }
            guard take(":") else { throw .malformed }
            let value = try value()
            // No program looks for a name with a surrogate, and two of them would have the same text.
            if name.utf8.elementsEqual(bytes) { members.append((name, value)) }
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

    private mutating func string() throws(JSONSyntaxError) -> String { Self.text(try content()) }

    /// Returns the content of a string, in which a surrogate without its pair has the three bytes of its number (WTF-8).
    private mutating func content() throws(JSONSyntaxError) -> [UInt8] {
        rest.removeFirst()
        var content: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return content
            case UInt8(ascii: "\\"): content += try escape()
            case 0..<0x20: throw .malformed
            default: content.append(byte)
            }
        }
        throw .malformed
    }

    /// Returns a text with U+FFFD in place of each surrogate.
    private static func text(_ content: [UInt8]) -> String {
        guard content.contains(0xED) else { return String(decoding: content, as: UTF8.self) }
        var bytes = content
        // No character of UTF-8 has a second byte of A0 or more after ED.
        for start in bytes.indices.dropLast(2) where bytes[start] == 0xED && bytes[start + 1] >= 0xA0 {
            bytes.replaceSubrange(start..<start + 3, with: [0xEF, 0xBF, 0xBD])
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func escape() throws(JSONSyntaxError) -> [UInt8] {
        switch rest.popFirst() {
        case UInt8(ascii: "\"")?: return [UInt8(ascii: "\"")]
        case UInt8(ascii: "\\")?: return [UInt8(ascii: "\\")]
        case UInt8(ascii: "/")?: return [UInt8(ascii: "/")]
        case UInt8(ascii: "b")?: return [0x8]
        case UInt8(ascii: "f")?: return [0xC]
        case UInt8(ascii: "n")?: return [UInt8(ascii: "\n")]
        case UInt8(ascii: "r")?: return [UInt8(ascii: "\r")]
        case UInt8(ascii: "t")?: return [UInt8(ascii: "\t")]
        case UInt8(ascii: "u")?:
            let unit = try codeUnit()
            if let scalar = Unicode.Scalar(unit) { return Array(String(scalar).utf8) }
            if let trail = try trailSurrogate(after: unit) {
                return Array(String(decoding: [unit, trail], as: UTF16.self).utf8)
            }
            return [0xED, 0x80 | UInt8(unit >> 6 & 0x3F), 0x80 | UInt8(unit & 0x3F)]
        default: throw .malformed
        }
    }

    /// Takes the second half of a pair; returns `nil` and takes nothing if there is none.
    private mutating func trailSurrogate(after unit: UInt16) throws(JSONSyntaxError) -> UInt16? {
        let start = rest
        if UTF16.isLeadSurrogate(unit), takeByte("\\"), takeByte("u") {
            let trail = try codeUnit()
            if UTF16.isTrailSurrogate(trail) { return trail }
        }
        rest = start
        return nil
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
