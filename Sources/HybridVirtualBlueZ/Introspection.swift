// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// The interfaces that are served: their XML descriptions, and the signatures that calls are checked against.
enum Introspection {
    private struct Interface: Sendable {
        let xml: String
        /// The signature of the arguments of each method.
        let methods: [String: String]
    }

    private struct Member {
        let xml: String
        var method: (name: String, signature: String)?
    }

    /// Returns true if the called method takes these arguments.
    ///
    /// Interfaces without a description accept all calls.
    static func accepts(_ call: BusMessage) -> Bool {
        guard let interface = known[call.interface] else { return true }
        return interface.methods[call.member] == call.signature
    }

    /// Returns the XML description of the object at `path`: its interfaces and the names of the objects below it.
    static func xml(of path: String, in tree: ObjectTree) -> String {
        var interfaces = tree.objects[path]?.keys.sorted() ?? []
        if path == "/" { interfaces.append(BusNames.objectManager) }
        if path == LabControl.path { interfaces.append(LabControl.interface) }
        if !interfaces.contains(BusNames.properties), tree.objects[path] != nil {
            interfaces.append(BusNames.properties)
        }
        if !interfaces.contains(BusNames.introspectable) { interfaces.append(BusNames.introspectable) }
        let prefix = path == "/" ? "/" : path + "/"
        let paths = tree.objects.keys + [LabControl.path]
        let children = Set(
            paths.filter { $0.hasPrefix(prefix) && $0 != path }.compactMap {
                $0.dropFirst(prefix.count).split(separator: "/").first
            }
        )
        let body =
            interfaces.map { known[$0]?.xml ?? "<interface name=\"\($0)\"/>" }
            + children.sorted().map { "<node name=\"\($0)\"/>" }
        return """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>\(body.joined())</node>
            """
    }

    /// Returns true if there is an object at `path` or below it.
    static func describes(_ path: String, in tree: ObjectTree) -> Bool {
        path == "/" || (tree.objects.keys + [LabControl.path]).contains { $0 == path || $0.hasPrefix(path + "/") }
    }

    private static let known: [String: Interface] = [
        BusNames.introspectable: interface(BusNames.introspectable, method("Introspect", out: "s")),
        BusNames.objectManager: interface(
            BusNames.objectManager,
            method("GetManagedObjects", out: "a{oa{sa{sv}}}"),
            signal("InterfacesAdded", "o", "a{sa{sv}}"),
            signal("InterfacesRemoved", "o", "as")
        ),
        BusNames.properties: interface(
            BusNames.properties,
            method("Get", "s", "s", out: "v"),
            method("Set", "s", "s", "v"),
            method("GetAll", "s", out: "a{sv}"),
            signal("PropertiesChanged", "s", "a{sv}", "as")
        ),
        BlueZNames.adapter: interface(
            BlueZNames.adapter,
            method("StartDiscovery"),
            method("StopDiscovery"),
            method("SetDiscoveryFilter", "a{sv}"),
            method("GetDiscoveryFilters", out: "as"),
            method("RemoveDevice", "o"),
            property("Address", "s"),
            property("AddressType", "s"),
            property("Name", "s"),
            property("Alias", "s", access: "readwrite"),
            property("Class", "u"),
            property("Powered", "b", access: "readwrite"),
            property("PowerState", "s"),
            property("Connectable", "b", access: "readwrite"),
            property("Discoverable", "b", access: "readwrite"),
            property("DiscoverableTimeout", "u", access: "readwrite"),
            property("Pairable", "b", access: "readwrite"),
            property("PairableTimeout", "u", access: "readwrite"),
            property("Discovering", "b"),
            property("UUIDs", "as"),
            property("Modalias", "s"),
            property("Manufacturer", "q"),
            property("Version", "y"),
            property("Roles", "as"),
            property("ExperimentalFeatures", "as")
        ),
        BlueZNames.advertisingManager: interface(
            BlueZNames.advertisingManager,
            method("RegisterAdvertisement", "o", "a{sv}"),
            method("UnregisterAdvertisement", "o"),
            property("ActiveInstances", "y"),
            property("SupportedInstances", "y"),
            property("SupportedIncludes", "as"),
            property("SupportedSecondaryChannels", "as"),
            property("SupportedCapabilities", "a{sv}"),
            property("SupportedFeatures", "as")
        ),
        BlueZNames.agentManager: interface(
            BlueZNames.agentManager,
            method("RegisterAgent", "o", "s"),
            method("UnregisterAgent", "o"),
            method("RequestDefaultAgent", "o")
        ),
        LabControl.interface: interface(
            LabControl.interface,
            method("Inject", "s", "ay", out: "s"),
            method("InjectProperties", "a{sv}", out: "s"),
            method("Remove", "s"),
            method("Flood", "s", "u", "u"),
            method("FloodCount", "s", out: "(uu)"),
            method("SetPowered", "s", "b"),
            method("SetBlocked", "s", "b"),
            method("SetSlots", "s", "u"),
            method("FailNext", "s", "s", "s"),
            method("SwallowNext", "s"),
            method("Vanish"),
            method("Return"),
            method("ActiveAdverts", out: "as")
        ),
    ]

    private static func interface(_ name: String, _ members: Member...) -> Interface {
        let methods = members.compactMap(\.method)
        return Interface(
            xml: "<interface name=\"\(name)\">\(members.map(\.xml).joined())</interface>",
            methods: Dictionary(uniqueKeysWithValues: methods)
        )
    }

    private static func method(_ name: String, _ arguments: String..., out: String? = nil) -> Member {
        let inward = arguments.map { "<arg type=\"\($0)\" direction=\"in\"/>" }.joined()
        let outward = out.map { "<arg type=\"\($0)\" direction=\"out\"/>" } ?? ""
        return Member(xml: "<method name=\"\(name)\">\(inward)\(outward)</method>", method: (name, arguments.joined()))
    }

    private static func signal(_ name: String, _ arguments: String...) -> Member {
        Member(xml: "<signal name=\"\(name)\">\(arguments.map { "<arg type=\"\($0)\"/>" }.joined())</signal>")
    }

    private static func property(_ name: String, _ type: String, access: String = "read") -> Member {
        Member(xml: "<property name=\"\(name)\" type=\"\(type)\" access=\"\(access)\"/>")
    }
}

extension BusMessage {
    /// The D-Bus signature of the message's body.
    var signature: String { body.map(\.typeSignature).joined() }
}
