// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// A tree of D-Bus objects with interfaces and properties, and the signals that report changes.
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

    /// Marks the position of the reply: it is sent after the signals that have been caused so far.
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

    /// Adds an object and reports its addition by a signal.
    mutating func add(_ path: String, _ interfaces: Interfaces) {
        objects[path] = interfaces
        report("InterfacesAdded", of: BusNames.objectManager, [.objectPath(path), Self.value(of: interfaces)])
    }

    /// Removes an object and reports its removal, if it exists.
    mutating func remove(_ path: String) {
        guard let interfaces = objects.removeValue(forKey: path) else { return }
        let body: [BusValue] = [.objectPath(path), .strings(interfaces.keys.sorted())]
        report("InterfacesRemoved", of: BusNames.objectManager, body)
    }

    /// Changes properties and reports the changes, if the object has the interface.
    mutating func set(_ path: String, _ interface: String, _ changes: Properties) {
        guard objects[path]?[interface] != nil else { return }
        objects[path]?[interface]?.merge(changes) { $1 }
        let body: [BusValue] = [.string(interface), .properties(changes), .strings([])]
        report("PropertiesChanged", of: BusNames.properties, at: path, body)
    }

    /// Removes a property and reports its removal, if it exists.
    mutating func invalidate(_ path: String, _ interface: String, _ property: String) {
        guard objects[path]?[interface]?.removeValue(forKey: property) != nil else { return }
        let body: [BusValue] = [.string(interface), .properties([:]), .strings([property])]
        report("PropertiesChanged", of: BusNames.properties, at: path, body)
    }

    private mutating func report(_ member: String, of interface: String, at path: String = "/", _ body: [BusValue]) {
        signals.append(Signal(path: path, interface: interface, member: member, body: body))
    }

    /// Returns the value of a property.
    func get(_ path: String, _ interface: String, _ property: String) -> BusValue? {
        objects[path]?[interface]?[property]
    }

    /// Returns the signals that were caused since the last call.
    mutating func takeSignals() -> [Signal] {
        defer {
            signals = []
            beforeReply = 0
        }
        return signals
    }

    /// The reply to GetManagedObjects.
    var managedObjects: BusValue {
        let sorted = objects.sorted { $0.key < $1.key }
        return .dictionary("o", "a{sa{sv}}", sorted.map { BusEntry(.objectPath($0.key), Self.value(of: $0.value)) })
    }

    private static func value(of interfaces: Interfaces) -> BusValue {
        let sorted = interfaces.sorted { $0.key < $1.key }
        return .dictionary("s", "a{sv}", sorted.map { BusEntry(.string($0.key), .properties($0.value)) })
    }
}
