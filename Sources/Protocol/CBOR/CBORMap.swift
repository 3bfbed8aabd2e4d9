// SPDX-License-Identifier: Apache-2.0

/// A CBOR map with unique keys.
///
/// Iteration follows insertion order. Equality ignores the order, and encoding sorts canonically.
public struct CBORMap: Sendable {
    private var order: [CBORValue] = []
    private var values: [CBORValue: CBORValue] = [:]

    /// Creates an empty map.
    public init() {}

    /// Creates a map from entries.
    ///
    /// If a key is repeated, its last value is kept.
    public init(_ entries: some Sequence<(CBORValue, CBORValue)>) {
        for (key, value) in entries { self[key] = value }
    }

    /// Number of entries.
    public var count: Int { order.count }
    /// True if the map has no entries.
    public var isEmpty: Bool { order.isEmpty }
    /// Keys in insertion order.
    public var keys: [CBORValue] { order }

    /// Accesses the value of a key.
    ///
    /// Assigning `nil` removes the entry.
    public subscript(key: CBORValue) -> CBORValue? {
        get { values[key] }
        set {
            if let newValue {
                if values.updateValue(newValue, forKey: key) == nil { order.append(key) }
            } else if values.removeValue(forKey: key) != nil {
                order.removeAll { $0 == key }
            }
        }
    }

    /// Entries in insertion order.
    public var entries: [(key: CBORValue, value: CBORValue)] {
        order.compactMap { key in values[key].map { (key, $0) } }
    }

    /// Adds an entry.
    ///
    /// - Returns: `false` if the key already exists; the map is then unchanged.
    mutating func insert(_ value: CBORValue, forKey key: CBORValue) -> Bool {
        guard values[key] == nil else { return false }
        self[key] = value
        return true
    }
}

extension CBORMap: Hashable {
    /// Returns true if both maps have equal entries, in any order.
    public static func == (left: CBORMap, right: CBORMap) -> Bool { left.values == right.values }
    /// Hashes the entries independently of their order.
    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

extension CBORMap: ExpressibleByDictionaryLiteral {
    /// Creates a map from a dictionary literal.
    ///
    /// If a key is repeated, its last value is kept.
    public init(dictionaryLiteral elements: (CBORValue, CBORValue)...) { self.init(elements) }
}
