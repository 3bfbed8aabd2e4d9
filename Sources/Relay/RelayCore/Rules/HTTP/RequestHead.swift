// SPDX-License-Identifier: Apache-2.0

/// An HTTP/1.1 request head (RFC 9112 §2–5).
///
/// Parsing is strict. Input that two parsers could read differently, such as a bare line feed or a folded line, is
/// refused. Empty lines before the head are skipped (RFC 9112 §2.2), at most ``maximumEmptyLines``.
struct RequestHead: Sendable {
    /// Maximum number of header fields; common reverse proxies have the same limit.
    static let maximumFields = 100

    /// Maximum number of empty lines before the head.
    static let maximumEmptyLines = 4

    /// A header field that the relay evaluates, and the range of its value in the head.
    private struct Field: Sendable {
        let field: RequestField
        let value: Range<Int>
    }

    private let bytes: [UInt8]
    private var fields: [Field] = []
    private var methodRange = 0..<0
    private var targetRange = 0..<0
    /// The host and port of a target in absolute form, which replace `Host`.
    private var authorityRange: Range<Int>?

    /// The method as received.
    var method: ArraySlice<UInt8> { bytes[methodRange] }
    /// The request target; of one in absolute form, the part after the host.
    var target: ArraySlice<UInt8> { bytes[targetRange] }
    /// The host and port of a target in absolute form; `nil` for other forms (RFC 9112 §3.2.2).
    var authority: ArraySlice<UInt8>? { authorityRange.map { bytes[$0] } }

    /// Parses a complete head, from the method to the empty line.
    init(parsing head: [UInt8]) throws(UpgradeRefusal) {
        bytes = head
        fields.reserveCapacity(16)
        let head = head.span
        let first = Self.emptyLines(before: head.bytes)
        var end = try Self.lineEnd(head, from: first)
        try parseRequestLine(head, first..<end)
        var count = 0
        while true {
            let start = end + 2
            end = try Self.lineEnd(head, from: start)
            if start == end { return }
            guard count < Self.maximumFields else { throw .headTooLarge }
            count += 1
            try parseField(head, start..<end)
        }
    }

    /// Returns the length in bytes of the empty lines at the beginning.
    static func emptyLines(before bytes: RawSpan) -> Int {
        var length = 0
        while length < 2 * maximumEmptyLines, bytes.byteCount >= length + 2,
            bytes.unsafeLoad(fromByteOffset: length, as: UInt8.self) == 0x0D,
            bytes.unsafeLoad(fromByteOffset: length + 1, as: UInt8.self) == 0x0A
        {
            length += 2
        }
        return length
    }

    /// Returns true if the head has the field.
    func has(_ field: RequestField) -> Bool { fields.contains { $0.field == field } }

    /// Returns all values of a field, in order.
    func values(of field: RequestField) -> [ArraySlice<UInt8>] {
        fields.compactMap { $0.field == field ? bytes[$0.value] : nil }
    }

    /// Returns the value of a field that may occur only once; `nil` if it is missing.
    func value(of field: RequestField) throws(UpgradeRefusal) -> ArraySlice<UInt8>? {
        var found: Range<Int>?
        for one in fields where one.field == field {
            guard found == nil else { throw .duplicateField }
            found = one.value
        }
        return found.map { bytes[$0] }
    }

    /// Returns true if a comma-separated field, on one line or several, contains `item`, ignoring case.
    func list(_ field: RequestField, contains item: StaticString) -> Bool {
        let span = bytes.span
        for one in fields where one.field == field {
            var start = one.value.lowerBound
            while start <= one.value.upperBound {
                var end = start
                while end < one.value.upperBound, span[end] != UInt8(ascii: ",") { end += 1 }
                if span.extracting(Self.trimmed(span, start..<end)).equalsIgnoringCase(item) { return true }
                start = end + 1
            }
        }
        return false
    }

    /// Returns the index of the CR that ends the line starting at `start`.
    private static func lineEnd(_ head: Span<UInt8>, from start: Int) throws(UpgradeRefusal) -> Int {
        var index = start
        while index < head.count {
            // Eight bytes at a time, because finding line ends is the largest part of the work for a request.
            if index + 8 <= head.count {
                let word = head.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self)
                let plain = UInt64(littleEndian: word).bytesBeforeControl
                index += plain
                if plain == 8 { continue }
            }
            if head[index].isFieldCharacter {
                index += 1
                continue
            }
            guard head[index] == UInt8(ascii: "\r"), index + 1 < head.count, head[index + 1] == UInt8(ascii: "\n")
            else { throw .controlCharacter }
            return index
        }
        throw .malformedRequestLine
    }

    private mutating func parseRequestLine(_ head: Span<UInt8>, _ line: Range<Int>) throws(UpgradeRefusal) {
        let blank = UInt8(ascii: " ")
        var index = line.lowerBound
        while index < line.upperBound, head[index].isTokenCharacter { index += 1 }
        guard index > line.lowerBound, index < line.upperBound, head[index] == blank else {
            throw .malformedRequestLine
        }
        methodRange = line.lowerBound..<index
        let start = index + 1
        index = start
        while index < line.upperBound, (0x21...0x7E).contains(head[index]) { index += 1 }
        guard index > start, index < line.upperBound, head[index] == blank else { throw .malformedRequestLine }
        targetRange = start..<index
        if head[start] != UInt8(ascii: "/") { parseAbsoluteTarget(head) }
        let version = head.extracting((index + 1)..<line.upperBound)
        guard version.equals("HTTP/1.1") else {
            let isHTTP = version.count >= 5 && version.extracting(0..<5).equals("HTTP/")
            for position in version.indices where version[position] == blank { throw .malformedRequestLine }
            throw isHTTP ? .unsupportedHTTPVersion : .malformedRequestLine
        }
    }

    /// Divides a target in absolute form, such as `https://host/path`; other targets stay as they are.
    private mutating func parseAbsoluteTarget(_ head: Span<UInt8>) {
        let target = head.extracting(targetRange)
        let schemes: [StaticString] = ["https://", "http://", "wss://", "ws://"]
        var length = 0
        for scheme in schemes where target.count >= scheme.utf8CodeUnitCount {
            let beginning = target.extracting(0..<scheme.utf8CodeUnitCount)
            if beginning.equalsIgnoringCase(scheme) { length = beginning.count }
        }
        guard length > 0 else { return }
        let start = targetRange.lowerBound + length
        var end = start
        while end < targetRange.upperBound, head[end] != UInt8(ascii: "/"), head[end] != UInt8(ascii: "?") { end += 1 }
        (authorityRange, targetRange) = (start..<end, end..<targetRange.upperBound)
    }

    private mutating func parseField(_ head: Span<UInt8>, _ line: Range<Int>) throws(UpgradeRefusal) {
        var colon = line.lowerBound
        // Nearly all names consist of letters and hyphens, which are read eight at a time.
        while colon + 8 <= line.upperBound {
            let word = head.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: colon, as: UInt64.self)
            let count = UInt64(littleEndian: word).lettersAndHyphens
            colon += count
            if count < 8 { break }
        }
        // The caller guarantees that the line is inside the head, so the index needs no check.
        while colon < line.upperBound, head[unchecked: colon].isTokenCharacter { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, head[colon] == UInt8(ascii: ":") else {
            throw .malformedField
        }
        guard let field = RequestField(name: head.extracting(line.lowerBound..<colon)) else { return }
        fields.append(Field(field: field, value: Self.trimmed(head, (colon + 1)..<line.upperBound)))
    }

    /// Returns the range without the spaces and tabs at both ends.
    private static func trimmed(_ head: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, head[start].isBlank { start += 1 }
        while start < end, head[end - 1].isBlank { end -= 1 }
        return start..<end
    }
}
