// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A JSON value from a client (RFC 8259), without the contents of numbers.
///
/// The reader is strict: each member occurs once, nothing follows the value, and nesting is bounded. Foundation's
/// decoder also takes UTF-16, repeated members and superfluous commas, which other implementations read differently.
indirect enum JSONItem: Hashable {
    case null
    case boolean(Bool)
    case number
    case string(String)
    case array([JSONItem])
    case object([String: JSONItem])

    /// Maximum nesting depth.
    static let maximumDepth = 32

    /// Creates a value from UTF-8; `nil` if it is malformed.
    ///
    /// As in *UTF-8 decode* (WebAuthn Level 3 §7.1 step 5), a byte order mark is removed, and malformed sequences become
    /// U+FFFD.
    init?(utf8 bytes: [UInt8]) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = String(decoding: bytes.starts(with: mark) ? bytes[mark.count...] : bytes[...], as: UTF8.self)
        var reader = Reader(bytes: Array(text.utf8))
        guard let value = reader.value(depth: 0) else { return nil }
        reader.skipSpace()
        guard reader.isAtEnd else { return nil }
        self = value
    }

    /// The text of a string; `nil` for other values.
    var text: String? { if case .string(let text) = self { text } else { nil } }
    /// The members of an object; `nil` for other values.
    var members: [String: JSONItem]? { if case .object(let members) = self { members } else { nil } }
    /// The elements of an array; `nil` for other values.
    var elements: [JSONItem]? { if case .array(let elements) = self { elements } else { nil } }
    /// The Boolean; `nil` for other values.
    var flag: Bool? { if case .boolean(let flag) = self { flag } else { nil } }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { position == bytes.count }
        private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

        mutating func skipSpace() {
            while let next, [0x20, 0x09, 0x0A, 0x0D].contains(next) { position += 1 }
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard next == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        private mutating func take(word: String) -> Bool {
            guard bytes[position...].starts(with: word.utf8) else { return false }
            position += word.utf8.count
            return true
        }

        mutating func value(depth: Int) -> JSONItem? {
            guard depth < JSONItem.maximumDepth else { return nil }
            skipSpace()
            switch next {
            case UInt8(ascii: "{"): return object(depth)
            case UInt8(ascii: "["): return array(depth)
            case UInt8(ascii: "\""): return string().map { .string($0) }
            case UInt8(ascii: "t"): return take(word: "true") ? .boolean(true) : nil
            case UInt8(ascii: "f"): return take(word: "false") ? .boolean(false) : nil
            case UInt8(ascii: "n"): return take(word: "null") ? .null : nil
            default: return number() ? .number : nil
            }
        }

        private mutating func object(_ depth: Int) -> JSONItem? {
            position += 1
            var members: [String: JSONItem] = [:]
            skipSpace()
            if take("}") { return .object(members) }
            repeat {
                skipSpace()
                guard let name = string() else { return nil }
                skipSpace()
                guard take(":"), let value = value(depth: depth + 1),
                    members.updateValue(value, forKey: name) == nil
                else { return nil }
                skipSpace()
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        private mutating func array(_ depth: Int) -> JSONItem? {
            position += 1
            var elements: [JSONItem] = []
            skipSpace()
            if take("]") { return .array(elements) }
            repeat {
                guard let value = value(depth: depth + 1) else { return nil }
                elements.append(value)
                skipSpace()
            } while take(",")
            return take("]") ? .array(elements) : nil
        }

        /// Takes a number: `-`, digits without a leading zero, a fraction, an exponent.
        private mutating func number() -> Bool {
            _ = take("-")
            let start = position
            guard digits(), bytes[start] != UInt8(ascii: "0") || position == start + 1 else { return false }
            if take("."), !digits() { return false }
            if take("e") || take("E") {
                if !take("+") { _ = take("-") }
                return digits()
            }
            return true
        }

        private mutating func digits() -> Bool {
            let start = position
            while let next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { position += 1 }
            return position > start
        }

        private mutating func string() -> String? {
            guard take("\"") else { return nil }
            var text: [UInt8] = []
            while let byte = next, byte >= 0x20 {
                position += 1
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let scalar = escape() else { return nil }
                    text += Array(String(scalar).utf8)
                default: text.append(byte)
                }
            }
            return nil
        }

        private mutating func escape() -> Unicode.Scalar? {
            guard let byte = next else { return nil }
            position += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{C}"
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "u"):
                guard let unit = codeUnit() else { return nil }
                guard (0xD800..<0xDC00).contains(unit) else { return Unicode.Scalar(unit) }
                // The second half of a surrogate pair must follow.
                guard take("\\"), take("u"), let low = codeUnit(), (0xDC00..<0xE000).contains(low) else { return nil }
                return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + low - 0xDC00)
            default: return nil
            }
        }

        private mutating func codeUnit() -> UInt32? {
            guard bytes.count - position >= 4 else { return nil }
            let digits = bytes[position..<(position + 4)]
            position += 4
            return Hex.number(digits).map { UInt32(truncatingIfNeeded: $0) }
        }
    }
}
