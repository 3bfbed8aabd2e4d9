// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// Objects with their interfaces and properties, and the signals that report their changes.
struct ObjectTree: Sendable {
    typealias Properties = [String: BusValue]
    typealias Interfaces = [String: Properties]

    /// A signal to send.
    struct Signal: Sendable {
        let path: String
        let interface: String
        let member: String
        let body: [BusValue]
    }

    private(set) var objects: [String: Interfaces] = [:]
    private var signals: [Signal] = []
    /// The number of signals to send before the reply to the call that is being handled.
    private var beforeReply = 0

    /// Marks the place of the reply among the signals: it is sent after those caused so far.
    mutating func replyHere() {
        beforeReply = signals.count
    }

    /// Returns the signals to send before the reply.
    mutating func takeSignalsBeforeReply() -> [Signal] {
        defer {
            signals.removeFirst(beforeReply)
            beforeReply = 0
        }
        return Array(signals.prefix(beforeReply))
    }

    /// Adds an object and reports it.
    mutating func add(_ path: String, _ interfaces: Interfaces) {
        objects[path] = interfaces
        let body: [BusValue] = [.objectPath(path), Self.value(of: interfaces)]
        signals.append(Signal(path: "/", interface: BusNames.objectManager, member: "InterfacesAdded", body: body))
    }

    /// Removes an object and reports it, if it exists.
    mutating func remove(_ path: String) {
        guard let interfaces = objects.removeValue(forKey: path) else { return }
        let body: [BusValue] = [.objectPath(path), .strings(interfaces.keys.sorted())]
        signals.append(Signal(path: "/", interface: BusNames.objectManager, member: "InterfacesRemoved", body: body))
    }

    /// Changes properties and reports them, if the object exists.
    mutating func set(_ path: String, _ interface: String, _ changes: Properties) {
        guard objects[path]?[interface] != nil else { return }
        objects[path]?[interface]?.merge(changes) { $1 }
        let body: [BusValue] = [.string(interface), .properties(changes), .strings([])]
        signals.append(
            Signal(path: path, interface: BusNames.properties, member: "PropertiesChanged", body: body)
        )
    }

    /// Removes a property and reports it, if it exists.
    mutating func invalidate(_ path: String, _ interface: String, _ property: String) {
        guard objects[path]?[interface]?.removeValue(forKey: property) != nil else { return }
        let body: [BusValue] = [.string(interface), .properties([:]), .strings([property])]
        signals.append(
            Signal(path: path, interface: BusNames.properties, member: "PropertiesChanged", body: body)
        )
    }

    /// Returns the value of a property.
    func get(_ path: String, _ interface: String, _ property: String) -> BusValue? {
        objects[path]?[interface]?[property]
    }

    /// Removes everything without reporting it.
    mutating func clear() {
        self = ObjectTree()
    }

    /// Returns the signals that are due since the last call.
    mutating func takeSignals() -> [Signal] {
        defer {
            signals = []
            beforeReply = 0
        }
        return signals
    }

    /// The reply to GetManagedObjects.
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
