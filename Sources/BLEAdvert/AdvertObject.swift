// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridDBus
internal import HybridThreads

/// The D-Bus object from which bluetoothd reads the content of an advert.
struct AdvertObject: Sendable {
    /// The requested minimum and maximum interval in milliseconds.
    ///
    /// With the kernel's default of 1.28 seconds, users would have to wait longer.
    static let interval: UInt32 = 100

    /// The properties of org.bluez.LEAdvertisement1.
    let properties: [String: BusValue]
    /// Called when bluetoothd stops the advert on its own.
    let released: @Sendable () -> Void

    /// Creates the object of an advert; `psm` is the PSM on which L2CAP channels are accepted, if any.
    init(_ advert: Advert, psm: L2CAPPSM?, withInterval: Bool, released: @escaping @Sendable () -> Void) {
        let suffix = psm.map { AdvertSuffix(psm: $0).encoded } ?? []
        let data = BusEntry(.string(AdvertServiceUUID.fido.fullText), .variant(.bytes(advert.bytes + suffix)))
        var properties: [String: BusValue] = [
            // The advert contains only the service data. With the suffix, and the flags that connectable adverts may
            // need, it takes all of the 31 bytes that every radio can send. There is no space for a name or a list of
            // service UUIDs, and scanners find the advert by its service data. A broadcast does not reveal the public
            // address.
            "Type": .string(psm == nil ? "broadcast" : "peripheral"),
            "ServiceData": .dictionary("s", "v", [data]),
        ]
        if withInterval {
            properties["MinInterval"] = .uint32(Self.interval)
            properties["MaxInterval"] = .uint32(Self.interval)
        }
        self.properties = properties
        self.released = released
    }

    /// Returns the reply to a method call on the object.
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

/// The advert objects that a radio exports on the bus.
///
/// Only bluetoothd can read them.
final class RegisteredAdverts: Sendable {
    private struct State {
        var reader: String?
        var objects: [String: AdvertObject] = [:]
        var lastNumber = 0
    }

    private let state = Locked(State())

    /// Allows the program with this unique name to read the objects.
    func setReader(_ reader: String) {
        state.withLock { $0.reader = reader }
    }

    /// Returns a path that no object of this radio has had before.
    func newPath() -> String {
        state.withLock { state in
            state.lastNumber += 1
            return "/org/hybrid/advert\(state.lastNumber)"
        }
    }

    /// Sets or replaces the object at a path; `nil` removes it.
    func put(_ object: AdvertObject?, at path: String) {
        state.withLock { $0.objects[path] = object }
    }

    /// Returns the reply to a received method call.
    func answer(_ call: BusMessage) -> BusReply {
        let (reader, object) = state.withLock { ($0.reader, $0.objects[call.path]) }
        guard call.sender == reader else {
            return .error(name: "org.freedesktop.DBus.Error.AccessDenied", message: "Only bluetoothd can read this.")
        }
        return object?.answer(call) ?? .unknownObject
    }
}
