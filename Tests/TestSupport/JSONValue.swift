// SPDX-License-Identifier: Apache-2.0

/// A JSON document of the tests, read without knowing its shape.
public enum JSONValue: Decodable, Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A whole number; vectors hold no others.
    case number(Int)
    /// A text.
    case text(String)
    /// A list.
    case list([JSONValue])
    /// An object.
    case object([String: JSONValue])

    /// What a vector file does not say though a test needs it.
    public enum Missing: Error, Equatable {
        /// The key is not there.
        case key(String)
        /// The value is of another kind, or text is not hexadecimal.
        case kind(String)
    }

    /// Reads any value.
    public init(from decoder: any Decoder) throws {
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

    /// The value of a key, or `nil` where there is none or it is `null`.
    public subscript(key: String) -> JSONValue? {
        guard case .object(let entries) = self, let value = entries[key], value != .null else { return nil }
        return value
    }

    /// The value of a key that must be there.
    public func value(_ key: String) throws -> JSONValue {
        guard let value = self[key] else { throw Missing.key(key) }
        return value
    }

    /// The text of a key.
    public func text(_ key: String) throws -> String {
        guard case .text(let text) = try value(key) else { throw Missing.kind(key) }
        return text
    }

    /// The bytes that a key gives in hexadecimal digits.
    public func hex(_ key: String) throws -> [UInt8] {
        guard let bytes = Hexadecimal.bytes(try text(key)) else { throw Missing.kind(key) }
        return bytes
    }

    /// The number of a key.
    public func number(_ key: String) throws -> Int {
        guard case .number(let number) = try value(key) else { throw Missing.kind(key) }
        return number
    }

    /// The truth value of a key.
    public func boolean(_ key: String) throws -> Bool {
        guard case .boolean(let value) = try value(key) else { throw Missing.kind(key) }
        return value
    }

    /// The list of a key.
    public func list(_ key: String) throws -> [JSONValue] { try value(key).elements }

    /// The elements of a list.
    public var elements: [JSONValue] {
        get throws {
            guard case .list(let elements) = self else { throw Missing.kind("list") }
            return elements
        }
    }

    /// The entries of an object.
    public var entries: [String: JSONValue] {
        get throws {
            guard case .object(let entries) = self else { throw Missing.kind("object") }
            return entries
        }
    }
}
