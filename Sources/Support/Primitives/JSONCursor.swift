// SPDX-License-Identifier: Apache-2.0

/// A value in a parsed document, with its path for error messages.
///
/// A record reads its members in the order in which their errors are to be reported; unknown members are ignored:
///
/// ```swift
/// struct Descriptor {
///     let type: String
///     let index: Int
///     let transports: [String]
///
///     init(_ json: JSONCursor) throws {
///         type = try json.member("type").text
///         index = try json.member("index").integer()
///         transports = try json.memberIfPresent("transports")?.elements.map { try $0.text } ?? []
///     }
/// }
///
/// let document = try JSONText(parsing: bytes)
/// let request = JSONCursor(document, named: "the request")
/// let descriptors = try request.member("descriptors").elements.map(Descriptor.init)
/// ```
///
/// The errors of such a record are "descriptors[0].type is missing" and "descriptors[0].transports has the wrong type".
/// Errors of its own take their subject from ``path``. A record that tolerates malformed members reads them from
/// ``value`` instead: `json.value.member("type")?.text` is `nil` if the member is absent or of another type.
public struct JSONCursor: Sendable {
    /// The value.
    public let value: JSONText
    private let location: Location

    private indirect enum Location: Sendable {
        case document(name: String)
        case member(of: Location, String)
        case element(of: Location, Int)
    }

    private init(_ value: JSONText, _ location: Location) {
        self.value = value
        self.location = location
    }

    /// Creates a cursor at the outermost value of a document, which error messages call `name`.
    public init(_ document: JSONText, named name: String) { self.init(document, .document(name: name)) }

    /// The path in JavaScript's notation, such as `publicKey.allowCredentials[0].id`; for a document its name.
    ///
    /// Names that are no short identifiers, which the sender may have chosen, are shortened and made safe to show.
    public var path: String {
        var path = ""
        var current = location
        while true {
            switch current {
            case .document(let name):
                guard !path.isEmpty else { return name }
                return path.hasPrefix(".") ? String(path.dropFirst()) : path
            case .member(let parent, let name): (path, current) = (Self.shown(name) + path, parent)
            case .element(let parent, let index): (path, current) = ("[\(index)]" + path, parent)
            }
        }
    }

    private static func shown(_ name: String) -> String {
        let isPlain = name.unicodeScalars.allSatisfy { character in
            "a"..."z" ~= character || "A"..."Z" ~= character || "0"..."9" ~= character || character == "_"
        }
        let isShort = (1...SafeText.maximumLength).contains(name.utf8.count)
        return isPlain && isShort ? ".\(name)" : "[\(SafeText(quoting: name))]"
    }

    // MARK: - Members

    /// Returns a member of an object; it is missing if it is absent or `null`.
    public func member(_ name: String) throws(JSONMemberError) -> JSONCursor {
        guard let member = try memberIfPresent(name) else {
            throw JSONMemberError(path: JSONCursor(.null, .member(of: location, name)).path, problem: .missing)
        }
        return member
    }

    /// Returns a member of an object; `nil` if it is absent or `null`.
    public func memberIfPresent(_ name: String) throws(JSONMemberError) -> JSONCursor? {
        guard value.isObject else { throw mismatch }
        switch value.member(name) {
        case nil, .null?: return nil
        case let member?: return JSONCursor(member, .member(of: location, name))
        }
    }

    /// The members of an object in their order.
    public var members: [(name: String, json: JSONCursor)] {
        get throws(JSONMemberError) {
            guard case .object(let members) = value else { throw mismatch }
            return members.map { name, value in (name, JSONCursor(value, .member(of: location, name))) }
        }
    }

    /// The elements of an array.
    public var elements: [JSONCursor] {
        get throws(JSONMemberError) {
            guard let elements = value.elements else { throw mismatch }
            return elements.enumerated().map { JSONCursor($1, .element(of: location, $0)) }
        }
    }

    // MARK: - Values

    /// The text of a string.
    public var text: String {
        get throws(JSONMemberError) {
            guard let text = value.text else { throw mismatch }
            return text
        }
    }

    /// The value of `true` or `false`.
    public var boolean: Bool {
        get throws(JSONMemberError) {
            guard let boolean = value.boolean else { throw mismatch }
            return boolean
        }
    }

    /// Returns the integer; a number that is not exactly an integer of this type has the wrong type.
    public func integer<Value: FixedWidthInteger>(_: Value.Type = Int.self) throws(JSONMemberError) -> Value {
        guard let integer = value.integer(Value.self) else { throw mismatch }
        return integer
    }

    /// The error for a value of another type; `null` counts as missing.
    private var mismatch: JSONMemberError {
        if case .null = value { return JSONMemberError(path: path, problem: .missing) }
        return JSONMemberError(path: path, problem: .wrongType)
    }
}

/// A reason why a member of a JSON document is unusable.
public struct JSONMemberError: Error, Hashable, Sendable {
    /// The kinds of problem.
    public enum Problem: Sendable {
        /// The member is absent or `null`.
        case missing
        /// The member has another type, or is a number that is not an integer of the requested type.
        case wrongType
    }

    /// The path of the member, as in ``JSONCursor/path``.
    public let path: String
    /// The problem.
    public let problem: Problem

    /// A clause for error messages, without any value.
    public var reason: String { "\(path) \(problem == .missing ? "is missing" : "has the wrong type")" }
}

extension JSONText {
    /// Returns the member of an object; `nil` for other values and other names.
    public func member(_ name: String) -> JSONText? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.0.utf8.elementsEqual(name.utf8) }?.1
    }

    /// True if the value is an object.
    public var isObject: Bool {
        guard case .object = self else { return false }
        return true
    }

    /// The elements of an array; `nil` for other values.
    public var elements: [JSONText]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The text of a string; `nil` for other values.
    public var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The value of `true` or `false`; `nil` for other values.
    public var boolean: Bool? {
        guard case .boolean(let boolean) = self else { return nil }
        return boolean
    }

    /// Returns a number that is exactly an integer of this type, also if written like `60.0` or `6e1`; otherwise `nil`.
    public func integer<Value: FixedWidthInteger>(_: Value.Type = Int.self) -> Value? {
        switch self {
        case .number(let number): Value(exactly: number)
        case .numeral(let text): Value(text) ?? Self.digits(text).flatMap { Value($0) }
        default: nil
        }
    }

    /// Returns the digits of an integer that has a fraction or an exponent; `nil` for other numbers.
    private static func digits(_ numeral: String) -> String? {
        let parts = numeral.split { $0 == "e" || $0 == "E" }
        guard numeral.utf8.count <= 64, let exponent = parts.count == 2 ? Int(parts[1]) : 0,
            (-64...64).contains(exponent)
        else { return nil }
        let mantissa = parts[0].split(separator: ".")
        var digits = mantissa.joined()
        guard digits.contains(where: { $0 != "0" && $0 != "-" }) else { return "0" }
        var shift = exponent - (mantissa.count == 2 ? mantissa[1].count : 0)
        while shift < 0, digits.hasSuffix("0") {
            digits.removeLast()
            shift += 1
        }
        return shift < 0 ? nil : digits + String(repeating: "0", count: shift)
    }
}
