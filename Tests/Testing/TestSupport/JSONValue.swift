// SPDX-License-Identifier: Apache-2.0

/// A JSON value of any structure.
package enum JSONValue: Decodable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// An integer. The vectors contain no other numbers.
    case number(Int)
    /// A string.
    case text(String)
    /// An array.
    case list([JSONValue])
    /// An object.
    case object([String: JSONValue])

    /// A value that a test needs and the document lacks.
    package enum Missing: Error, Equatable {
        /// The key is missing.
        case key(String)
        /// The value has another type, or the string is not hexadecimal.
        case kind(String)
    }

    /// Creates a string.
    package init(stringLiteral value: String) { self = .text(value) }

    /// Creates a value from any JSON value.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Accesses the value of a key; `nil` if it is missing or `null`.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let entries) = self, let value = entries[key], value != .null else { return nil }
        return value
    }

    /// Returns the value of a required key.
    package func value(_ key: String) throws -> JSONValue {
        guard let value = self[key] else { throw Missing.key(key) }
        return value
    }

    /// Returns the string of a key.
    package func text(_ key: String) throws -> String {
        guard case .text(let text) = try value(key) else { throw Missing.kind(key) }
        return text
    }

    /// Returns the bytes of a key's hexadecimal digits.
    package func hex(_ key: String) throws -> [UInt8] {
        guard let bytes = Hexadecimal.bytes(try text(key)) else { throw Missing.kind(key) }
        return bytes
    }

    /// Returns the integer of a key.
    package func number(_ key: String) throws -> Int {
        guard case .number(let number) = try value(key) else { throw Missing.kind(key) }
        return number
    }

    /// Returns the Boolean of a key.
    package func boolean(_ key: String) throws -> Bool {
        guard case .boolean(let value) = try value(key) else { throw Missing.kind(key) }
        return value
    }

    /// Returns the array of a key.
    package func list(_ key: String) throws -> [JSONValue] { try value(key).elements }

    /// The elements of an array.
    package var elements: [JSONValue] {
        get throws {
            guard case .list(let elements) = self else { throw Missing.kind("list") }
            return elements
        }
    }

    /// The entries of an object.
    package var entries: [String: JSONValue] {
        get throws {
            guard case .object(let entries) = self else { throw Missing.kind("object") }
            return entries
        }
    }
}
