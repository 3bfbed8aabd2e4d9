// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A JSON object (RFC 8259) in UTF-8 on one line.
///
/// The values stay in the memory of the line, which is wiped on release, until they are read. Only texts, integers and
/// booleans can be read; other values are checked and ignored.
struct JSONLine {
    /// Maximum number of members.
    static let maximumMembers = 32
    /// Maximum nesting of ignored values.
    static let maximumDepth = 8

    private let line: SecretBytes
    private var members: [String: Range<Int>] = [:]

    /// Creates an object; `nil` if the line contains anything else, or two members of the same name.
    init?(_ line: SecretBytes) {
        self.line = line
        var cursor = JSONCursor(UnsafeRawBufferPointer(line.memory))
        guard (try? cursor.requireUTF8()) != nil, let members = try? Self.members(&cursor) else { return nil }
        self.members = members
    }

    private static func members(_ cursor: inout JSONCursor) throws(JSONCursor.Malformed) -> [String: Range<Int>] {
        var members: [String: Range<Int>] = [:]
        cursor.skipSpace()
        try cursor.skipList(from: "{", to: "}") { (cursor) throws(JSONCursor.Malformed) in
            let name = try cursor.skipString()
            try cursor.skip(":")
            let value = try cursor.skipValue(depth: maximumDepth)
            let text = String(decoding: cursor.unescaped(name), as: UTF8.self)
            guard members.updateValue(value, forKey: text) == nil, members.count <= maximumMembers else {
                throw JSONCursor.Malformed()
            }
        }
        cursor.skipSpace()
        guard cursor.isAtEnd else { throw JSONCursor.Malformed() }
        return members
    }

    /// Returns the text of a member; `nil` if the member is absent or not a text.
    func text(_ name: String) -> String? {
        guard let value = members[name], line.memory[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        var bytes = JSONCursor(UnsafeRawBufferPointer(line.memory)).unescaped(value)
        defer { SecretBytes.wipe(&bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the integer of a member; `nil` if the member is absent, another value, or not within ±2⁵³.
    func integer(_ name: String) -> Int? {
        guard let value = members[name], value.count <= 17 else { return nil }
        let number = Int(String(decoding: line.memory[value], as: UTF8.self))
        return number.flatMap { abs($0) <= 1 << 53 ? $0 : nil }
    }

    /// Returns true if the member is `true`.
    func isTrue(_ name: String) -> Bool {
        guard let value = members[name] else { return false }
        return line.memory[value].elementsEqual("true".utf8)
    }
}
