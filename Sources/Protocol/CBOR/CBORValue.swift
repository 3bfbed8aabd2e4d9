// SPDX-License-Identifier: Apache-2.0

/// One CBOR data item (RFC 8949) as CTAP2 uses it.
///
/// CTAP2 uses a canonical subset: shortest integers, definite lengths, a fixed order of map keys, no tags, and at most
/// four levels of nesting. ``CBOREncoder`` writes this subset only. ``CBORDecoder`` has two modes: *strict* accepts
/// this subset only, and *lenient* also accepts the deviations of real phones.
///
/// Input is untrusted. The decoder limits the nesting depth and the number of items. It checks each length against the
/// remaining input before it allocates memory. Both modes reject duplicate keys, indefinite lengths and trailing bytes.
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
    /// A half-, single- or double-precision floating-point number, stored as its bits.
    case float(CBORFloat)
}

/// A floating-point number with its original width and bits, which CTAP2 requires to be preserved.
public enum CBORFloat: Hashable, Sendable {
    /// Half precision, 2 bytes.
    case half(UInt16)
    /// Single precision, 4 bytes.
    case single(UInt32)
    /// Double precision, 8 bytes.
    case double(UInt64)
}

extension CBORValue: Hashable {
    /// Returns true if two items have the same canonical encoding.
    ///
    /// Swift's `String` treats canonically equivalent strings as equal, such as the two encodings of é. CBOR compares
    /// bytes, so such strings are different values and different keys.
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

    /// Hashes the kind and the content of the item; text strings are hashed as UTF-8 bytes.
    ///
    /// Without the kind, an attacker could send a map with thousands of different keys that have the same hash.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        switch self {
        case .unsigned(let value), .negative(let value): hasher.combine(value)
        case .bytes(let value): hasher.combine(value)
        case .text(let value): hasher.combine(Array(value.utf8))
        case .array(let value): hasher.combine(value)
        case .map(let value): hasher.combine(value)
        case .boolean(let value): hasher.combine(value)
        case .null, .undefined: break
        case .float(let value): hasher.combine(value)
        }
    }

    private var kind: UInt8 {
        switch self {
        case .unsigned: 0
        case .negative: 1
        case .bytes: 2
        case .text: 3
        case .array: 4
        case .map: 5
        case .boolean: 6
        case .null: 7
        case .undefined: 8
        case .float: 9
        }
    }
}

extension CBORValue {
    /// Returns an integer item of either sign.
    public static func integer(_ value: Int) -> CBORValue {
        value >= 0 ? .unsigned(UInt64(value)) : .negative(UInt64(-1 - value))
    }

    /// The value of an integer, or `nil` for another item or an integer that does not fit into `Int`.
    public var integer: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    /// Contents of a byte string, or `nil` for another item.
    public var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    /// Contents of a text string, or `nil` for another item.
    public var text: String? { if case .text(let value) = self { value } else { nil } }
    /// Elements of an array, or `nil` for another item.
    public var array: [CBORValue]? { if case .array(let value) = self { value } else { nil } }
    /// The map, or `nil` for another item.
    public var map: CBORMap? { if case .map(let value) = self { value } else { nil } }
    /// The Boolean, or `nil` for another item.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
}

extension CBORValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates an integer item.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// Creates a text string.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates an array.
    public init(arrayLiteral elements: CBORValue...) { self = .array(elements) }
    /// Creates a map.
    ///
    /// If a key is repeated, its last value is kept.
    public init(dictionaryLiteral elements: (CBORValue, CBORValue)...) { self = .map(CBORMap(elements)) }
}
