// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// The descriptions of the served interfaces, for XML introspection and for checking the signatures of calls.
enum Introspection {
    /// The methods of each interface with their types: those of the arguments, then `->` and that of the result.
    private static let methods: [String: [String: String]] = [
        BusNames.introspectable: ["Introspect": "-> s"],
        BusNames.objectManager: ["GetManagedObjects": "-> a{oa{sa{sv}}}"],
        BusNames.properties: ["Get": "s s -> v", "Set": "s s v", "GetAll": "s -> a{sv}"],
        BlueZNames.adapter: [
            "StartDiscovery": "", "StopDiscovery": "", "SetDiscoveryFilter": "a{sv}", "GetDiscoveryFilters": "-> as",
            "RemoveDevice": "o",
        ],
        BlueZNames.advertisingManager: ["RegisterAdvertisement": "o a{sv}", "UnregisterAdvertisement": "o"],
        BlueZNames.agentManager: ["RegisterAgent": "o s", "UnregisterAgent": "o", "RequestDefaultAgent": "o"],
        AirControl.interface: [
            "Inject": "s ay -> s", "InjectProperties": "a{sv} -> s", "Remove": "s",
            "Flood": "s u u", "FloodCount": "s -> (uu)",
            "SetPowered": "s b", "SetBlocked": "s b", "SetSlots": "s u", "SetRoles": "s as",
            "FailNext": "s s s", "HaltDiscovery": "s", "SwallowNext": "s", "Vanish": "", "Return": "",
            "ActiveAdverts": "-> as",
        ],
    ]

    private static let signals = [
        BusNames.objectManager: ["InterfacesAdded": "o a{sa{sv}}", "InterfacesRemoved": "o as"],
        BusNames.properties: ["PropertiesChanged": "s a{sv} as"],
    ]

    /// Returns true if the called method takes these arguments.
    ///
    /// Interfaces without a description accept all calls.
    static func accepts(_ call: BusMessage) -> Bool {
        guard let methods = methods[call.interface] else { return true }
        return methods[call.member].map { types($0).arguments.joined() } == call.signature
    }

    /// Returns the XML description of the object at `path`: its interfaces and the names of the objects below it.
    ///
    /// - Returns: `nil` if there is no object at `path` or below it.
    static func xml(of path: String, in tree: ObjectTree) -> String? {
        let paths = tree.objects.keys + [AirControl.path]
        let prefix = path == "/" ? "/" : path + "/"
        let below = paths.filter { $0.hasPrefix(prefix) }
        guard !below.isEmpty || paths.contains(path) else { return nil }
        var interfaces = tree.objects[path] ?? [:]
        if tree.objects[path] != nil { interfaces[BusNames.properties] = [:] }
        if path == "/" { interfaces[BusNames.objectManager] = [:] }
        if path == AirControl.path { interfaces[AirControl.interface] = [:] }
        interfaces[BusNames.introspectable] = [:]
        // bluetoothd describes this property, although adapters have it only with experimental features.
        interfaces[BlueZNames.adapter]?["ExperimentalFeatures"] = .strings([])
        let children = Set(below.compactMap { $0.dropFirst(prefix.count).split(separator: "/").first })
        let body =
            interfaces.sorted { $0.key < $1.key }.map(xml(ofInterface:with:))
            + children.sorted().map { "<node name=\"\($0)\"/>" }
        return """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>\(body.joined())</node>
            """
    }

    private static func xml(ofInterface interface: String, with properties: ObjectTree.Properties) -> String {
        let methods = methods[interface, default: [:]].sorted { $0.key < $1.key }.map { name, text in
            let (arguments, result) = types(text)
            let inward = arguments.map { "<arg type=\"\($0)\" direction=\"in\"/>" }
            let outward = result.map { "<arg type=\"\($0)\" direction=\"out\"/>" }
            return "<method name=\"\(name)\">\((inward + outward).joined())</method>"
        }
        let signals = signals[interface, default: [:]].sorted { $0.key < $1.key }.map { name, text in
            "<signal name=\"\(name)\">\(types(text).arguments.map { "<arg type=\"\($0)\"/>" }.joined())</signal>"
        }
        let properties = properties.sorted { $0.key < $1.key }.map { name, value in
            let access = BlueZModel.isWritable(name, of: interface) ? "readwrite" : "read"
            return "<property name=\"\(name)\" type=\"\(value.typeSignature)\" access=\"\(access)\"/>"
        }
        return "<interface name=\"\(interface)\">\((methods + signals + properties).joined())</interface>"
    }

    /// Splits the description of a method or signal into the types of its arguments and the type of its result.
    private static func types(_ text: String) -> (arguments: [Substring], result: [Substring]) {
        let types = text.split(separator: " ")
        let arguments = types.prefix { $0 != "->" }
        return (Array(arguments), Array(types.dropFirst(arguments.count + 1)))
    }
}

extension BusMessage {
    /// The D-Bus signature of the message's body.
    var signature: String { body.map(\.typeSignature).joined() }
}
