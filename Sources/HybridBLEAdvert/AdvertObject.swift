// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridSystemBus
internal import HybridThreads

/// The object from which bluetoothd reads what to send.
struct AdvertObject: Sendable {
    /// Interval asked for, in milliseconds, shortest and longest alike: the kernel's own 1.28 s makes people wait.
    static let interval: UInt32 = 100

    /// Whether the service's UUID is listed as well.
    ///
    /// Left out: scanners find the advert by its service data, and four bytes of the 31 are better kept free.
    static let listsServiceUUID = false

    /// The properties of org.bluez.LEAdvertisement1.
    let properties: [String: BusValue]
    /// Told when bluetoothd takes the advert off the air by itself.
    let released: @Sendable () -> Void

    /// - Parameter psm: where L2CAP channels are taken, if they are.
    init(_ advert: Advert, psm: L2CAPPSM?, withInterval: Bool, released: @escaping @Sendable () -> Void) {
        let uuid = AdvertServiceUUID.fido.fullText
        let suffix = psm.map { AdvertSuffix(psm: $0).encoded } ?? []
        let data = BusEntry(.string(uuid), .variant(.bytes(advert.bytes + suffix)))
        var properties: [String: BusValue] = [
            // Nothing in it but the service data, no name: with the suffix, and the flags that connectable adverts may
            // need, it has the 31 bytes that all radios send. Who can't be connected to also shows no public address.
            "Type": .string(psm == nil ? "broadcast" : "peripheral"),
            "ServiceData": .dictionary("s", "v", [data]),
        ]
        if Self.listsServiceUUID { properties["ServiceUUIDs"] = .strings([uuid]) }
        if withInterval {
            properties["MinInterval"] = .uint32(Self.interval)
            properties["MaxInterval"] = .uint32(Self.interval)
        }
        self.properties = properties
        self.released = released
    }

    /// Answers a call to the object.
    func answer(_ call: BusMessage) -> BusReply {
        switch (call.interface, call.member) {
        case (BusNames.properties, "GetAll"):
            return .values([.properties(call.body.first?.text == BlueZ.advertisement ? properties : [:])])
        case (BusNames.properties, "Get"):
            guard call.body.count == 2, call.body[0].text == BlueZ.advertisement, let name = call.body[1].text,
                let value = properties[name]
            else { return .error(name: "org.freedesktop.DBus.Error.InvalidArgs", message: "No such property.") }
            return .values([.variant(value)])
        case (BusNames.introspectable, "Introspect"):
            return .values([.string(Self.introspection)])
        case (BlueZ.advertisement, "Release"):
            released()
            return .values([])
        default:
            return .unknownMethod
        }
    }

    private static let introspection = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node><interface name="org.bluez.LEAdvertisement1"><method name="Release"/>
        <property name="Type" type="s" access="read"/><property name="ServiceData" type="a{sv}" access="read"/>
        <property name="MinInterval" type="u" access="read"/><property name="MaxInterval" type="u" access="read"/>
        </interface></node>
        """
}

/// The objects a radio shows to bluetoothd, and to nobody else.
final class RegisteredAdverts: Sendable {
    private struct State {
        var owner: String?
        var objects: [String: AdvertObject] = [:]
        var lastNumber = 0
    }

    private let state = Locked(State())

    /// Names who may read the objects.
    func admit(_ owner: String) {
        state.withLock { $0.owner = owner }
    }

    /// A path that no object of this radio has had before.
    func newPath() -> String {
        state.withLock { state in
            state.lastNumber += 1
            return "/org/hybrid/advert\(state.lastNumber)"
        }
    }

    /// Puts an object at a path, in place of the one there; `nil` removes.
    func put(_ object: AdvertObject?, at path: String) {
        state.withLock { $0.objects[path] = object }
    }

    /// Answers a method call that came in.
    func answer(_ call: BusMessage) -> BusReply {
        let (owner, object) = state.withLock { ($0.owner, $0.objects[call.path]) }
        guard call.sender == owner else {
            return .error(name: "org.freedesktop.DBus.Error.AccessDenied", message: "Only bluetoothd may read this.")
        }
        return object?.answer(call) ?? .unknownObject
    }
}
