// SPDX-License-Identifier: Apache-2.0

/// One CBOR data item (RFC 8949) as CTAP2 uses it.
///
/// CTAP2 speaks a canonical subset: shortest integers, definite lengths, map keys in one fixed order, no
/// tags, at most four levels of nesting. ``CBOREncoder`` writes that subset and nothing else.
/// ``CBORDecoder`` reads it in one of two modes: *strict*, for what this project seals itself and for what the
/// specification demands, and *lenient*, for what real phones send.
///
/// Both ends of a ceremony are strangers, so the decoder bounds depth, element counts and lengths by what
/// is really there, refuses duplicate keys, indefinite lengths and trailing bytes in both modes, and never
/// allocates by a length it has only read about.
public indirect enum CBORValue: Sendable {
    /// An integer from 0 to 2⁶⁴−1 (major type 0).
    case unsigned(UInt64)
    /// The integer −1 − n (major type 1).
    case negative(UInt64)
    /// A byte string (major type 2).
    case bytes([UInt8])
    /// A UTF-8 text string (major type 3).
    case text(String)
    /// An array (major type 4).
    case array([CBORValue])
    /// A map (major type 5).
    case map(CBORMap)
    /// `false` or `true`.
    case boolean(Bool)
    /// `null`.
    case null
    /// `undefined`.
    case undefined
    /// A half-, single- or double-precision number, kept as its bits.
    case float(CBORFloat)
}

/// A floating-point number as it stands in CBOR; its width and bits are kept, as CTAP2 asks.
public enum CBORFloat: Hashable, Sendable {
    /// Two bytes.
    case half(UInt16)
    /// Four bytes.
    case single(UInt32)
    /// Eight bytes.
    case double(UInt64)
}

extension CBORValue: Hashable {
    /// Whether two items have the same canonical bytes.
    ///
    /// Swift calls texts equal that Unicode calls equivalent, such as the two ways to write é; CBOR compares
    /// bytes, so such texts are different values and different keys.
    public static func == (left: CBORValue, right: CBORValue) -> Bool {
        switch (left, right) {
        case (.unsigned(let left), .unsigned(let right)): left == right
        case (.negative(let left), .negative(let right)): left == right
        case (.bytes(let left), .bytes(let right)): left == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.map(let left), .map(let right)): left == right
        case (.boolean(let left), .boolean(let right)): left == right
        case (.null, .null), (.undefined, .undefined): true
        case (.float(let left), .float(let right)): left == right
        default: false
        }
    }

    /// Hashes kind and content, texts by their bytes.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .unsigned(let value):
            hasher.combine(0)
            hasher.combine(value)
        case .negative(let value):
            hasher.combine(1)
            hasher.combine(value)
        case .bytes(let value):
            hasher.combine(2)
            hasher.combine(value)
        case .text(let value):
            hasher.combine(3)
            hasher.combine(Array(value.utf8))
        case .array(let value):
            hasher.combine(4)
            hasher.combine(value)
        case .map(let value):
            hasher.combine(5)
            hasher.combine(value)
        case .boolean(let value): hasher.combine(value)
        case .null: hasher.combine(6)
        case .undefined: hasher.combine(7)
        case .float(let value):
            hasher.combine(8)
            hasher.combine(value)
        }
    }
}

extension CBORValue {
    /// An integer of either sign.
    public static func integer(_ value: Int) -> CBORValue {
        value >= 0 ? .unsigned(UInt64(value)) : .negative(UInt64(-1 - value))
    }

    /// The integer, if it is one and fits.
    public var integer: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    /// The bytes of a byte string.
    public var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    /// The text of a text string.
    public var text: String? { if case .text(let value) = self { value } else { nil } }
    /// The elements of an array.
    public var array: [CBORValue]? { if case .array(let value) = self { value } else { nil } }
    /// The entries of a map.
    public var map: CBORMap? { if case .map(let value) = self { value } else { nil } }
    /// The truth value of `true` and `false`.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
}

extension CBORValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// An integer.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// A text string.
    public init(stringLiteral value: String) { self = .text(value) }
    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// An array.
    public init(arrayLiteral elements: CBORValue...) { self = .array(elements) }
    /// A map; a key that comes twice keeps its last value.
    public init(dictionaryLiteral elements: (CBORValue, CBORValue)...) {
        var map = CBORMap()
        for (key, value) in elements { map[key] = value }
        self = .map(map)
    }
}
