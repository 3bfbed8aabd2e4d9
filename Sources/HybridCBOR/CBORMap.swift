// SPDX-License-Identifier: Apache-2.0

/// The entries of a CBOR map, each key once.
///
/// The order of insertion is kept for iteration and ignored for equality; encoding sorts canonically.
public struct CBORMap: Sendable {
    private var order: [CBORValue] = []
    private var values: [CBORValue: CBORValue] = [:]

    /// An empty map.
    public init() {}

    /// The number of entries.
    public var count: Int { order.count }
    /// Whether there is no entry.
    public var isEmpty: Bool { order.isEmpty }
    /// The keys in the order they came.
    public var keys: [CBORValue] { order }

    /// The value of a key; setting `nil` removes the entry.
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

    /// The entries in the order they came.
    public var entries: [(key: CBORValue, value: CBORValue)] {
        order.compactMap { key in values[key].map { (key, $0) } }
    }

    /// Adds an entry; `false`, and no change, if the key is there already.
    mutating func insert(_ value: CBORValue, forKey key: CBORValue) -> Bool {
        guard values[key] == nil else { return false }
        self[key] = value
        return true
    }
}

extension CBORMap: Hashable {
    /// Equal entries, whatever their order.
    public static func == (left: CBORMap, right: CBORMap) -> Bool { left.values == right.values }
    /// Hashes the entries, whatever their order.
    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

extension CBORMap: ExpressibleByDictionaryLiteral {
    /// A map; a key that comes twice keeps its last value.
    public init(dictionaryLiteral elements: (CBORValue, CBORValue)...) {
        for (key, value) in elements { self[key] = value }
    }
}
