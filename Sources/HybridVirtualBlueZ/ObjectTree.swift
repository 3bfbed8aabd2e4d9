// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// Objects with their interfaces and properties, and the signals that changes to them cause.
struct ObjectTree: Sendable {
    typealias Properties = [String: BusValue]
    typealias Interfaces = [String: Properties]

    /// A signal to be sent.
    struct Signal: Sendable {
        let path: String
        let interface: String
        let member: String
        let body: [BusValue]
    }

    private(set) var objects: [String: Interfaces] = [:]
    private var signals: [Signal] = []
    /// How many of the signals go out before the answer to the call that is being handled.
    private var beforeAnswer = 0

    /// Marks the place of the answer among the signals: what was caused so far goes out before it.
    mutating func answerHere() {
        beforeAnswer = signals.count
    }

    /// The signals that go out before an answer.
    mutating func takeSignalsBeforeAnswer() -> [Signal] {
        defer {
            signals.removeFirst(beforeAnswer)
            beforeAnswer = 0
        }
        return Array(signals.prefix(beforeAnswer))
    }

    /// Adds an object and tells of it.
    mutating func add(_ path: String, _ interfaces: Interfaces) {
        objects[path] = interfaces
        let body: [BusValue] = [.objectPath(path), Self.value(of: interfaces)]
        signals.append(Signal(path: "/", interface: BusNames.objectManager, member: "InterfacesAdded", body: body))
    }

    /// Removes an object and tells of it, if it is there.
    mutating func remove(_ path: String) {
        guard let interfaces = objects.removeValue(forKey: path) else { return }
        let body: [BusValue] = [.objectPath(path), .strings(interfaces.keys.sorted())]
        signals.append(Signal(path: "/", interface: BusNames.objectManager, member: "InterfacesRemoved", body: body))
    }

    /// Changes properties and tells of it, if the object is there.
    mutating func set(_ path: String, _ interface: String, _ changes: Properties) {
        guard objects[path]?[interface] != nil else { return }
        objects[path]?[interface]?.merge(changes) { $1 }
        let body: [BusValue] = [.string(interface), .properties(changes), .strings([])]
        signals.append(
            Signal(path: path, interface: BusNames.properties, member: "PropertiesChanged", body: body)
        )
    }

    /// Takes a property away and tells of it, if it is there.
    mutating func invalidate(_ path: String, _ interface: String, _ property: String) {
        guard objects[path]?[interface]?.removeValue(forKey: property) != nil else { return }
        let body: [BusValue] = [.string(interface), .properties([:]), .strings([property])]
        signals.append(
            Signal(path: path, interface: BusNames.properties, member: "PropertiesChanged", body: body)
        )
    }

    /// A property's value.
    func get(_ path: String, _ interface: String, _ property: String) -> BusValue? {
        objects[path]?[interface]?[property]
    }

    /// Drops everything without telling anybody.
    mutating func clear() {
        self = ObjectTree()
    }

    /// The signals due since the last call.
    mutating func takeSignals() -> [Signal] {
        defer {
            signals = []
            beforeAnswer = 0
        }
        return signals
    }

    /// The answer of GetManagedObjects.
    var managedObjects: BusValue {
        .dictionary(
            "o",
            "a{sa{sv}}",
            objects.sorted { $0.key < $1.key }.map { BusEntry(.objectPath($0.key), Self.value(of: $0.value)) }
        )
    }

    private static func value(of interfaces: Interfaces) -> BusValue {
        .dictionary(
            "s",
            "a{sv}",
            interfaces.sorted { $0.key < $1.key }.map { BusEntry(.string($0.key), .properties($0.value)) }
        )
    }
}
