// SPDX-License-Identifier: Apache-2.0

/// A reason why input is not acceptable CBOR.
public struct CBORError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input ends inside an item.
    public static let truncated = CBORError("truncated")
    /// Bytes follow the item.
    public static let trailingBytes = CBORError("trailingBytes")
    /// Items are nested deeper than ``CBORLimits/depth``.
    public static let tooDeep = CBORError("tooDeep")
    /// The input has more items than ``CBORLimits/items`` or more bytes than ``CBORLimits/bytes``.
    public static let tooLarge = CBORError("tooLarge")
    /// The input contains an indefinite length.
    public static let indefiniteLength = CBORError("indefiniteLength")
    /// The input contains a tag, a reserved value, or a simple value other than false, true, null and undefined.
    public static let unsupported = CBORError("unsupported")
    /// A text string is not UTF-8 (strict mode), or a map key is not (both modes).
    public static let invalidUTF8 = CBORError("invalidUTF8")
    /// A map contains a key twice.
    public static let duplicateKey = CBORError("duplicateKey")
    /// An integer or length is not in its shortest form (strict mode).
    public static let notShortest = CBORError("notShortest")
    /// Map keys are not in canonical order (strict mode).
    public static let keyOrder = CBORError("keyOrder")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}

/// Limits that the decoder enforces.
public struct CBORLimits: Sendable {
    /// Maximum nesting depth.
    ///
    /// CTAP2 allows 4; extension outputs of real phones need a few more.
    public var depth: Int
    /// Maximum number of items, including nested ones.
    public var items: Int
    /// Maximum input length in bytes.
    public var bytes: Int

    /// Creates limits.
    ///
    /// Every CTAP message stays within the default values.
    public init(depth: Int = 16, items: Int = 16384, bytes: Int = 1 << 20) {
        self.depth = depth
        self.items = items
        self.bytes = bytes
    }
}

/// A decoder for untrusted CBOR.
public struct CBORDecoder {
    /// The strictness of the decoder.
    public enum Mode: Sendable {
        /// Accepts CTAP2 canonical form only.
        case strict
        /// Also accepts any key order and longer forms of integers and lengths, as sent by real phones.
        ///
        /// Invalid UTF-8 becomes U+FFFD: authenticators may cut names inside a character (WebAuthn Level 3 §6.4.1).
        /// Map keys must be valid, because two of them could become equal.
        case lenient
    }

    private let input: [UInt8]
    private var position = 0
    private var items = 0
    private let mode: Mode
    private let limits: CBORLimits
    private var withheldNames: Set<String> = []
    private var withheld: [String: Range<Int>] = [:]
    private var isWithholding = false

    /// Decodes one item, which must span the entire input.
    public static func decode(
        _ bytes: some Sequence<UInt8>,
        mode: Mode,
        limits: CBORLimits = CBORLimits()
    ) throws(CBORError) -> CBORValue {
        let (value, length) = try decodePrefix(bytes, mode: mode, limits: limits)
        guard length.consumed == length.total else { throw .trailingBytes }
        return value
    }

    /// Decodes one item that fills the input without copying some of its byte strings, which are secrets.
    ///
    /// The result keeps its shape: the byte strings are replaced by zeros of the same length.
    ///
    /// - Parameters:
    ///   - bytes: The input. It is not copied, so the caller can wipe it.
    ///   - names: Text keys of the outermost map. Byte strings anywhere in their values are not copied.
    ///   - mode: Strictness of the decoder.
    ///   - limits: Bounds of the decoder.
    /// - Returns: The item, and where in the input the values are that are byte strings themselves.
    public static func decode(
        _ bytes: [UInt8],
        withholding names: Set<String>,
        mode: Mode,
        limits: CBORLimits = CBORLimits()
    ) throws(CBORError) -> (value: CBORValue, withheld: [String: Range<Int>]) {
        guard bytes.count <= limits.bytes else { throw .tooLarge }
        var decoder = CBORDecoder(input: bytes, mode: mode, limits: limits)
        decoder.withheldNames = names
        let value = try decoder.item(depth: 0)
        guard decoder.position == bytes.count else { throw .trailingBytes }
        return (value, decoder.withheld)
    }

    /// Decodes one item at the start of the input.
    ///
    /// Used for the COSE key in authenticator data, which does not state the length of the key.
    ///
    /// - Returns: The item, the number of bytes that it occupies, and the length of the input in bytes.
    public static func decodePrefix(
        _ bytes: some Sequence<UInt8>,
        mode: Mode,
        limits: CBORLimits = CBORLimits()
    ) throws(CBORError) -> (value: CBORValue, length: (consumed: Int, total: Int)) {
        let input = Array(bytes)
        guard input.count <= limits.bytes else { throw .tooLarge }
        var decoder = CBORDecoder(input: input, mode: mode, limits: limits)
        let value = try decoder.item(depth: 0)
        return (value, (decoder.position, input.count))
    }

    /// Returns the original encoding of one value in a map, which must span the entire input.
    ///
    /// A value that is forwarded must keep its bytes, even if they are not in canonical form.
    ///
    /// - Returns: `nil` if the input is malformed, is not a map or does not contain the key.
    public static func encodedValue(
        of key: CBORValue,
        inMap bytes: some Sequence<UInt8>,
        limits: CBORLimits = CBORLimits()
    ) -> [UInt8]? {
        let input = Array(bytes)
        guard input.count <= limits.bytes else { return nil }
        var decoder = CBORDecoder(input: input, mode: .lenient, limits: limits)
        return try? decoder.encodedValue(of: key)
    }

    private mutating func encodedValue(of wanted: CBORValue) throws(CBORError) -> [UInt8]? {
        let initial = try byte()
        guard initial >> 5 == 5 else { return nil }
        let count = try argument(initial & 0x1F)
        guard count <= UInt64(input.count - position) / 2 else { throw .truncated }
        var found: [UInt8]?
        for _ in 0..<count {
            let key = try item(depth: 1, isKey: true)
            let start = position
            _ = try item(depth: 1)
            if key == wanted { found = Array(input[start..<position]) }
        }
        return position == input.count ? found : nil
    }

    private mutating func item(depth: Int, isKey: Bool = false) throws(CBORError) -> CBORValue {
        guard depth < limits.depth else { throw .tooDeep }
        items += 1
        guard items <= limits.items else { throw .tooLarge }
        let initial = try byte()
        let (major, information) = (initial >> 5, initial & 0x1F)
        if major == 7 { return try simple(information) }
        let number = try argument(information)
        switch major {
        case 0: return .unsigned(number)
        case 1: return .negative(number)
        case 2:
            let bytes = try slice(number)
            return .bytes(isWithholding ? [UInt8](repeating: 0, count: bytes.count) : Array(bytes))
        case 3:
            let bytes = try slice(number)
            if let text = String(validating: bytes, as: UTF8.self) { return .text(text) }
            guard mode == .lenient, !isKey else { throw .invalidUTF8 }
            return .text(String(decoding: bytes, as: UTF8.self))
        case 4: return try array(count: number, depth: depth)
        case 5: return try map(count: number, depth: depth)
        default: throw .unsupported
        }
    }

    private mutating func array(count: UInt64, depth: Int) throws(CBORError) -> CBORValue {
        // Every element takes at least one byte, so the count cannot exceed the rest of the input.
        guard count <= UInt64(input.count - position) else { throw .truncated }
        var elements: [CBORValue] = []
        for _ in 0..<count { elements.append(try item(depth: depth + 1)) }
        return .array(elements)
    }

    private mutating func map(count: UInt64, depth: Int) throws(CBORError) -> CBORValue {
        guard count <= UInt64(input.count - position) / 2 else { throw .truncated }
        var map = CBORMap()
        var previous: Range<Int>?
        for _ in 0..<count {
            let start = position
            let key = try item(depth: depth + 1, isKey: true)
            let range = start..<position
            // Neither of two equal encodings precedes the other; `insert` detects such duplicates.
            if mode == .strict, let previous, CanonicalOrder.precedes(input[range], input[previous]) {
                throw .keyOrder
            }
            previous = range
            let value = try value(of: key, depth: depth)
            guard map.insert(value, forKey: key) else { throw .duplicateKey }
        }
        return .map(map)
    }

    private mutating func value(of key: CBORValue, depth: Int) throws(CBORError) -> CBORValue {
        guard depth == 0, let name = key.text, withheldNames.contains(name) else { return try item(depth: depth + 1) }
        isWithholding = true
        defer { isWithholding = false }
        let value = try item(depth: depth + 1)
        if let length = value.bytes?.count { withheld[name] = (position - length)..<position }
        return value
    }

    private mutating func simple(_ information: UInt8) throws(CBORError) -> CBORValue {
        switch information {
        case 20: return .boolean(false)
        case 21: return .boolean(true)
        case 22: return .null
        case 23: return .undefined
        case 25: return .float(.half(UInt16(truncatingIfNeeded: try bits(width: 2))))
        case 26: return .float(.single(UInt32(truncatingIfNeeded: try bits(width: 4))))
        case 27: return .float(.double(try bits(width: 8)))
        case 31: throw .indefiniteLength
        default: throw .unsupported
        }
    }

    private mutating func argument(_ information: UInt8) throws(CBORError) -> UInt64 {
        let number: UInt64
        let smallest: UInt64
        switch information {
        case 0..<24: return UInt64(information)
        case 24: (number, smallest) = (try bits(width: 1), 24)
        case 25: (number, smallest) = (try bits(width: 2), 0x100)
        case 26: (number, smallest) = (try bits(width: 4), 0x1_0000)
        case 27: (number, smallest) = (try bits(width: 8), 0x1_0000_0000)
        case 31: throw .indefiniteLength
        default: throw .unsupported
        }
        if mode == .strict, number < smallest { throw .notShortest }
        return number
    }

    private mutating func byte() throws(CBORError) -> UInt8 {
        guard position < input.count else { throw .truncated }
        defer { position += 1 }
        return input[position]
    }

    private mutating func bits(width: Int) throws(CBORError) -> UInt64 {
        var number: UInt64 = 0
        for _ in 0..<width { number = number << 8 | UInt64(try byte()) }
        return number
    }

    private mutating func slice(_ count: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
        guard count <= UInt64(input.count - position) else { throw .truncated }
        let start = position
        position += Int(count)
        return input[start..<position]
    }
}
