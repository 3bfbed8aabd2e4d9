// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// An error that names the invalid member of a map.
protocol FieldFailure: Error {
    static func missing(_ member: String) -> Self
    static func wrongType(_ member: String) -> Self
    static func wrongLength(_ member: String) -> Self
    static func invalid(_ member: String) -> Self
}

/// A reader that looks up members of a CBOR map by key and names the invalid member in errors.
struct FieldReader<Failure: FieldFailure> {
    private let map: CBORMap
    private let path: String

    init(_ map: CBORMap, path: String = "") {
        self.map = map
        self.path = path
    }

    /// Returns the full name of a member, such as `user.id`.
    func name(_ member: String) -> String { path.isEmpty ? member : "\(path).\(member)" }

    /// Returns an optional member; `extract` returns `nil` for the wrong type.
    func optional<Value>(
        _ key: CBORValue,
        _ member: String,
        as extract: (CBORValue) -> Value?
    ) throws(Failure) -> Value? {
        guard let value = map[key] else { return nil }
        guard let extracted = extract(value) else { throw .wrongType(name(member)) }
        return extracted
    }

    /// Returns an optional member; a value of the wrong type counts as absent.
    ///
    /// This is for members that a receiver can do without, so that one of them never costs the whole message.
    func ignorable<Value>(_ key: CBORValue, as extract: (CBORValue) -> Value?) -> Value? { map[key].flatMap(extract) }

    /// Returns the texts of a list; other elements are left out, and a value of another type counts as absent.
    func ignorableTexts(_ key: CBORValue) -> [String] { (ignorable(key, as: \.array) ?? []).compactMap(\.text) }

    /// Returns readers for the maps of a list; other elements are left out.
    func ignorableMaps(_ key: CBORValue) -> [FieldReader] {
        (ignorable(key, as: \.array) ?? []).compactMap { $0.map.map { FieldReader($0, path: path) } }
    }

    /// Returns the Boolean options by name; other entries are left out, and a value of another type counts as absent.
    func ignorableOptions(_ key: CBORValue) -> [String: Bool] {
        var options: [String: Bool] = [:]
        for (key, value) in (ignorable(key, as: \.map) ?? [:]).entries {
            if let name = key.text, let truth = value.boolean { options[name] = truth }
        }
        return options
    }

    /// Returns a required member; `extract` returns `nil` for the wrong type.
    func required<Value>(
        _ key: CBORValue,
        _ member: String,
        as extract: (CBORValue) -> Value?
    ) throws(Failure) -> Value {
        guard let value = try optional(key, member, as: extract) else { throw .missing(name(member)) }
        return value
    }

    /// Returns a required byte string; `make` returns `nil` for the wrong length.
    func bytes<Value>(
        _ key: CBORValue,
        _ member: String,
        as make: ([UInt8]) -> Value?
    ) throws(Failure) -> Value {
        guard let value = make(try required(key, member, as: \.bytes)) else { throw .wrongLength(name(member)) }
        return value
    }

    /// Returns an optional byte string; `make` returns `nil` for the wrong length.
    func optionalBytes<Value>(
        _ key: CBORValue,
        _ member: String,
        as make: ([UInt8]) -> Value?
    ) throws(Failure) -> Value? {
        map[key] == nil ? nil : try bytes(key, member, as: make)
    }

    /// Returns a reader for a nested map, which is required.
    func nested(_ key: CBORValue, _ member: String) throws(Failure) -> FieldReader {
        FieldReader(try required(key, member, as: \.map), path: name(member))
    }

    /// Returns a reader for a nested map; `nil` if absent.
    func optionalNested(_ key: CBORValue, _ member: String) throws(Failure) -> FieldReader? {
        map[key] == nil ? nil : try nested(key, member)
    }

    /// Returns a list of texts; empty if absent.
    func texts(_ key: CBORValue, _ member: String) throws(Failure) -> [String] {
        var texts: [String] = []
        for element in try optional(key, member, as: \.array) ?? [] {
            guard let text = element.text else { throw .wrongType(name(member)) }
            texts.append(text)
        }
        return texts
    }

    /// Returns readers for a list of maps; empty if the list is absent and not required.
    func maps(
        _ key: CBORValue,
        _ member: String,
        isRequired: Bool = false
    ) throws(Failure) -> [FieldReader] {
        if isRequired, map[key] == nil { throw .missing(name(member)) }
        let elements = try optional(key, member, as: \.array) ?? []
        var readers: [FieldReader] = []
        for (index, element) in elements.enumerated() {
            guard let map = element.map else { throw .wrongType(name(member)) }
            readers.append(FieldReader(map, path: name("\(member)[\(index)]")))
        }
        return readers
    }

    /// Returns the options of a request by name; empty if absent.
    ///
    /// Options of other names are ignored, whatever their type, as CTAP 2.2 §6.1.2 requires.
    func options(_ key: CBORValue, known names: Set<String>) throws(Failure) -> [String: Bool] {
        var options: [String: Bool] = [:]
        for (key, value) in (try optional(key, "options", as: \.map) ?? [:]).entries {
            guard let option = key.text, names.contains(option) else { continue }
            guard let truth = value.boolean else { throw .wrongType(name("options.\(option)")) }
            options[option] = truth
        }
        return options
    }
}
