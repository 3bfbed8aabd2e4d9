// SPDX-License-Identifier: Apache-2.0

/// A D-Bus value.
///
/// Source: D-Bus Specification 0.43, "Type System". File descriptors are left out because no message here contains one.
package enum BusValue: Hashable, Sendable {
    /// An unsigned byte, `y`.
    case byte(UInt8)
    /// A boolean, `b`.
    case bool(Bool)
    /// A signed 16-bit number, `n`.
    case int16(Int16)
    /// An unsigned 16-bit number, `q`.
    case uint16(UInt16)
    /// A signed 32-bit number, `i`.
    case int32(Int32)
    /// An unsigned 32-bit number, `u`.
    case uint32(UInt32)
    /// A signed 64-bit number, `x`.
    case int64(Int64)
    /// An unsigned 64-bit number, `t`.
    case uint64(UInt64)
    /// A double, `d`.
    case double(Double)
    /// A string, `s`.
    case string(String)
    /// An object path, `o`.
    case objectPath(String)
    /// A type signature, `g`.
    case signature(String)
    /// An array of bytes, `ay`. The reader never returns it as `array`.
    case bytes([UInt8])
    /// An array, `a…`, with the signature of its elements.
    case array(String, [BusValue])
    /// A dictionary, `a{……}`, with the signatures of keys and values; the entries are in order.
    case dictionary(String, String, [BusEntry])
    /// A struct, `(…)`.
    case structure([BusValue])
    /// A value with its own signature, `v`.
    indirect case variant(BusValue)

    /// The type's signature.
    package var typeSignature: String {
        switch self {
        case .byte: "y"
        case .bool: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .bytes: "ay"
        case .array(let element, _): "a" + element
        case .dictionary(let key, let value, _): "a{" + key + value + "}"
        case .structure(let fields): "(" + fields.map(\.typeSignature).joined() + ")"
        case .variant: "v"
        }
    }
}

/// One entry of a D-Bus dictionary.
package struct BusEntry: Hashable, Sendable {
    /// The key, which has a basic type.
    package let key: BusValue
    /// The value.
    package let value: BusValue

    /// Creates an entry.
    package init(_ key: BusValue, _ value: BusValue) {
        self.key = key
        self.value = value
    }
}

extension BusValue {
    /// Returns a dictionary of properties, `a{sv}`, sorted by name.
    package static func properties(_ properties: [String: BusValue]) -> BusValue {
        .dictionary(
            "s",
            "v",
            properties.sorted { $0.key < $1.key }.map { BusEntry(.string($0.key), .variant($0.value)) }
        )
    }

    /// Returns an array of strings, `as`.
    package static func strings(_ strings: [String]) -> BusValue {
        .array("s", strings.map { .string($0) })
    }

    /// The innermost value if this is a variant; otherwise this value.
    package var unwrapped: BusValue {
        var value = self
        while case .variant(let inner) = value { value = inner }
        return value
    }

    /// The text of a string or an object path; `nil` for other types.
    package var text: String? {
        switch unwrapped {
        case .string(let text), .objectPath(let text): text
        default: nil
        }
    }

    /// The value of a Boolean; `nil` for other types.
    package var flag: Bool? { if case .bool(let flag) = unwrapped { flag } else { nil } }

    /// The bytes of a byte array, `ay`; `nil` for other types.
    package var octets: [UInt8]? { if case .bytes(let bytes) = unwrapped { bytes } else { nil } }

    /// The entries of a dictionary whose keys are strings or object paths, with the values unwrapped.
    ///
    /// If a key is repeated, its first value is used.
    package var fields: [String: BusValue]? {
        guard case .dictionary(_, _, let entries) = unwrapped else { return nil }
        var fields: [String: BusValue] = [:]
        for entry in entries {
            guard let key = entry.key.text else { return nil }
            if fields[key] == nil { fields[key] = entry.value.unwrapped }
        }
        return fields
    }
}
