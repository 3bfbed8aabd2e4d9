// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not the CBOR that was asked for.
public enum CBORError: Error, Equatable, Sendable {
    /// The input ends inside an item.
    case truncated
    /// Bytes follow the item.
    case trailingBytes
    /// Items are nested deeper than ``CBORLimits/depth``.
    case tooDeep
    /// There are more items than ``CBORLimits/items``, or the input is longer than ``CBORLimits/bytes``.
    case tooLarge
    /// An indefinite length.
    case indefiniteLength
    /// A tag, a reserved value, or a simple value other than false, true, null and undefined.
    case unsupported
    /// A text string that is not UTF-8.
    case invalidUTF8
    /// The same key twice in one map.
    case duplicateKey
    /// An integer or length in a longer form than needed (strict mode).
    case notShortest
    /// Map keys out of canonical order (strict mode).
    case keyOrder
}

/// Bounds of the decoder.
public struct CBORLimits: Sendable {
    /// How deep items may be nested; CTAP2 allows 4, extension outputs of real phones need a few more.
    public var depth: Int
    /// How many items there may be in all.
    public var items: Int
    /// How long the input may be, in bytes.
    public var bytes: Int

    /// Bounds that every CTAP message keeps.
    public init(depth: Int = 16, items: Int = 16384, bytes: Int = 1 << 20) {
        self.depth = depth
        self.items = items
        self.bytes = bytes
    }
}

/// Reads CBOR from a stranger.
public struct CBORDecoder {
    /// How much is forgiven.
    public enum Mode: Sendable {
        /// CTAP2 canonical form only.
        case strict
        /// Any key order and longer forms of integers and lengths, as phones send them.
        case lenient
    }

    private let input: [UInt8]
    private var position = 0
    private var items = 0
    private let mode: Mode
    private let limits: CBORLimits

    private init(input: [UInt8], mode: Mode, limits: CBORLimits) {
        self.input = input
        self.mode = mode
        self.limits = limits
    }

    /// Reads exactly one item that fills the input.
    public static func decode(
        _ bytes: some Sequence<UInt8>,
        mode: Mode,
        limits: CBORLimits = CBORLimits()
    ) throws(CBORError) -> CBORValue {
        let (value, length) = try decodePrefix(bytes, mode: mode, limits: limits)
        guard length.consumed == length.total else { throw .trailingBytes }
        return value
    }

    /// Reads one item at the start of the input and tells how many bytes it took.
    ///
    /// Authenticator data needs it: a COSE key stands there without a length of its own.
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

    /// The bytes of one value of a map, as they stand in a map that fills the input; `nil` if it is none, or has no such
    /// key.
    ///
    /// What was written in another way than ours, and is passed on, must not be written anew.
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
            let key = try item(depth: 1)
            let start = position
            _ = try item(depth: 1)
            if key == wanted { found = Array(input[start..<position]) }
        }
        return position == input.count ? found : nil
    }

    private mutating func item(depth: Int) throws(CBORError) -> CBORValue {
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
        case 2: return .bytes(Array(try slice(number)))
        case 3:
            guard let text = String(validating: try slice(number), as: UTF8.self) else { throw .invalidUTF8 }
            return .text(text)
        case 4: return try array(count: number, depth: depth)
        case 5: return try map(count: number, depth: depth)
        default: throw .unsupported
        }
    }

    private mutating func array(count: UInt64, depth: Int) throws(CBORError) -> CBORValue {
        // Every element takes at least one byte, so a count beyond the rest of the input is a lie.
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
            let key = try item(depth: depth + 1)
            let range = start..<position
            if mode == .strict, let previous {
                // Equal encodings are neither before nor after each other; they are told apart as duplicates.
                if CanonicalOrder.precedes(input[range], input[previous]) { throw .keyOrder }
            }
            previous = range
            let value = try item(depth: depth + 1)
            guard map.insert(value, forKey: key) else { throw .duplicateKey }
        }
        return .map(map)
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
