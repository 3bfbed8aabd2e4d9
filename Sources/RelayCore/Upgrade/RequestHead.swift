// SPDX-License-Identifier: Apache-2.0

/// A request head as HTTP/1.1 has it (RFC 9112 §2–5), read strictly: what two parsers could read differently,
/// a bare line feed or a folded line, is refused.
struct RequestHead: Sendable {
    /// A header field; both parts are places in the head.
    private struct Field: Sendable {
        let name: Range<Int>
        let value: Range<Int>
    }

    /// As many fields as a head may have; proxies in front of a relay take no more either.
    static let maximumFields = 100

    private let bytes: [UInt8]
    private var fields: [Field] = []
    private var methodRange = 0..<0
    private var targetRange = 0..<0

    /// The method, as it was written.
    var method: ArraySlice<UInt8> { bytes[methodRange] }
    /// What the request is for; starts with a slash unless it is somebody else's form of a target.
    var target: ArraySlice<UInt8> { bytes[targetRange] }

    /// Reads a whole head, from the method to the empty line.
    init(parsing head: [UInt8]) throws(UpgradeRefusal) {
        bytes = head
        var start = 0
        var isFirst = true
        while true {
            let end = try lineEnd(from: start)
            if isFirst {
                try parseRequestLine(start..<end)
                isFirst = false
            } else if start == end {
                return
            } else {
                guard fields.count < Self.maximumFields else { throw .headTooLarge }
                fields.append(try parseField(start..<end))
            }
            start = end + 2
        }
    }

    /// The values of a field in their order; `name` is in lower case.
    func values(of name: StaticString) -> [ArraySlice<UInt8>] {
        fields.compactMap { field in bytes[field.name].equalsIgnoringCase(name) ? bytes[field.value] : nil }
    }

    /// The value of a field that may stand once; `nil` if it does not stand at all.
    func value(of name: StaticString) throws(UpgradeRefusal) -> ArraySlice<UInt8>? {
        let all = values(of: name)
        guard all.count <= 1 else { throw .duplicateField }
        return all.first
    }

    /// Whether a comma-separated field, spread over lines or not, has an item; letters' case is ignored.
    func list(_ name: StaticString, contains item: StaticString) -> Bool {
        values(of: name).contains { value in
            value.split(separator: UInt8(ascii: ",")).contains { $0.trimmingBlanks().equalsIgnoringCase(item) }
        }
    }

    /// The place of the CR of the line that starts at `start`.
    private func lineEnd(from start: Int) throws(UpgradeRefusal) -> Int {
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\r"):
                guard index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "\n") else { throw .controlCharacter }
                return index
            case UInt8(ascii: "\t"), 0x20...0x7E, 0x80...: index += 1
            default: throw .controlCharacter
            }
        }
        throw .malformedRequestLine
    }

    private mutating func parseRequestLine(_ line: Range<Int>) throws(UpgradeRefusal) {
        let parts = bytes[line].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(\.isTokenCharacter), !parts[1].isEmpty,
            parts[1].allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .malformedRequestLine }
        guard parts[2].equals("HTTP/1.1") else {
            throw parts[2].starts(with: Array("HTTP/".utf8)) ? .unsupportedHTTPVersion : .malformedRequestLine
        }
        methodRange = parts[0].startIndex..<parts[0].endIndex
        targetRange = parts[1].startIndex..<parts[1].endIndex
    }

    private func parseField(_ line: Range<Int>) throws(UpgradeRefusal) -> Field {
        guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")) else { throw .malformedField }
        let name = bytes[line.lowerBound..<colon]
        guard !name.isEmpty, name.allSatisfy(\.isTokenCharacter) else { throw .malformedField }
        let value = bytes[(colon + 1)..<line.upperBound].trimmingBlanks()
        return Field(name: line.lowerBound..<colon, value: value.startIndex..<value.endIndex)
    }
}
