// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// What is wrong with one member of a map; the text names the member.
enum FieldError: Error, Equatable {
    case missing(String)
    case wrongType(String)
    case wrongLength(String)
    case invalid(String)
}

/// Reads members of a CBOR map by key, and knows their names for errors.
struct FieldReader {
    private let map: CBORMap
    private let path: String

    init(_ map: CBORMap, path: String = "") {
        self.map = map
        self.path = path
    }

    /// The full name of a member, such as `user.id`.
    func name(_ member: String) -> String { path.isEmpty ? member : "\(path).\(member)" }

    /// A member that may be absent; `extract` turns the right type into a value and anything else into `nil`.
    func optional<Value>(
        _ key: CBORValue,
        _ member: String,
        as extract: (CBORValue) -> Value?
    ) throws(FieldError) -> Value? {
        guard let value = map[key] else { return nil }
        guard let extracted = extract(value) else { throw .wrongType(name(member)) }
        return extracted
    }

    /// A member that must be there.
    func required<Value>(
        _ key: CBORValue,
        _ member: String,
        as extract: (CBORValue) -> Value?
    ) throws(FieldError) -> Value {
        guard let value = try optional(key, member, as: extract) else { throw .missing(name(member)) }
        return value
    }

    /// Bytes that must be there and have a length which `make` accepts.
    func bytes<Value>(
        _ key: CBORValue,
        _ member: String,
        as make: ([UInt8]) -> Value?
    ) throws(FieldError) -> Value {
        guard let value = make(try required(key, member, as: \.bytes)) else { throw .wrongLength(name(member)) }
        return value
    }

    /// A reader for a map inside this one.
    func nested(_ key: CBORValue, _ member: String) throws(FieldError) -> FieldReader {
        FieldReader(try required(key, member, as: \.map), path: name(member))
    }

    /// A list of texts; empty if absent.
    func texts(_ key: CBORValue, _ member: String) throws(FieldError) -> [String] {
        var texts: [String] = []
        for element in try optional(key, member, as: \.array) ?? [] {
            guard let text = element.text else { throw .wrongType(name(member)) }
            texts.append(text)
        }
        return texts
    }

    /// A list of maps; empty if absent and not required.
    func maps(_ key: CBORValue, _ member: String, isRequired: Bool = false) throws(FieldError) -> [FieldReader] {
        guard let elements = try optional(key, member, as: \.array) else {
            if isRequired { throw .missing(name(member)) }
            return []
        }
        var readers: [FieldReader] = []
        for (index, element) in elements.enumerated() {
            guard let map = element.map else { throw .wrongType(name(member)) }
            readers.append(FieldReader(map, path: name("\(member)[\(index)]")))
        }
        return readers
    }

    /// Named switches; empty if absent.
    func options(_ key: CBORValue) throws(FieldError) -> [String: Bool] {
        var options: [String: Bool] = [:]
        for (key, value) in (try optional(key, "options", as: \.map) ?? [:]).entries {
            guard let option = key.text else { throw .wrongType(name("options")) }
            guard let truth = value.boolean else { throw .wrongType(name(Self.fieldName(ofOption: option))) }
            options[option] = truth
        }
        return options
    }

    /// What an option is called where somebody reads it; its name is a stranger's.
    private static func fieldName(ofOption option: String) -> String {
        let isPlain = option.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
        return isPlain && (1...32).contains(option.utf8.count) ? "options.\(option)" : "options"
    }
}
