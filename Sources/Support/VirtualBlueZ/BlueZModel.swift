// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus
internal import HybridPrimitives

/// A state machine that behaves like bluetoothd: callers pass method calls and the time, and get replies and signals.
struct BlueZModel: Sendable {
    var tree = ObjectTree()
    var air: Air
    var slots: [String: UInt8] = [:]
    /// The unique names of the scanning clients, keyed by the adapter's path.
    var scanners: [String: Set<String>] = [:]
    /// The filters of the clients, keyed by the adapter's path and the client's unique name.
    var filters: [String: [String: DiscoveryFilter]] = [:]
    /// The adverts whose objects are being read, and their adapters.
    var registering: [Air.Key: String] = [:]
    /// The last known properties of the adverts' objects.
    var advertObjects: [Air.Key: ObjectTree.Properties] = [:]
    /// The errors with which the next calls of a method fail, keyed by method.
    var failures: [String: [BusReply]] = [:]
    /// The adapters whose discovery has stopped although clients scan.
    var halted: Set<String> = []
    /// The methods whose next call takes effect without a reply.
    var swallowed: Set<String> = []
    var lastInjected = 0
    private(set) var isPresent = true
    private let settings: AirSettings

    init(_ settings: AirSettings) {
        self.settings = settings
        air = Air(settings)
        start()
    }

    /// Handles a method call.
    ///
    /// - Returns: The reply, or `later` if an advert's object must be read first; `finishRegistering` then returns the
    ///   reply.
    mutating func answer(_ call: BusMessage, now: ContinuousClock.Instant) -> BusReply {
        if call.path == AirControl.path, call.interface == AirControl.interface { return control(call, now: now) }
        guard isPresent else { return .notServed }
        if let failure = failures[call.member]?.first {
            failures[call.member]?.removeFirst()
            return failure
        }
        if call.interface == BusNames.introspectable, call.member == "Introspect" {
            return Introspection.xml(of: call.path, in: tree).map { .values([.string($0)]) } ?? .unknownObject
        }
        if call.path == "/", call.interface == BusNames.objectManager, call.member == "GetManagedObjects" {
            return .values([tree.managedObjects])
        }
        guard let object = tree.objects[call.path] else { return .noObject(call) }
        guard object[call.interface] != nil, Introspection.accepts(call) else { return .noMethod(call) }
        switch call.interface {
        case BusNames.properties: return properties(call)
        case BlueZNames.adapter: return adapter(call, now: now)
        case BlueZNames.advertisingManager: return advertisingManager(call, now: now)
        case BlueZNames.agentManager, BlueZNames.profileManager, BlueZNames.gattManager, BlueZNames.media:
            return .done
        default: return .notSupported
        }
    }

    /// Ends the scans and adverts of a client that has left the bus.
    mutating func clientLeft(_ name: String, now: ContinuousClock.Instant) {
        for (adapter, names) in scanners where names.contains(name) {
            stopScan(of: name, on: adapter)
        }
        for adapter in filters.keys {
            filters[adapter]?[name] = nil
        }
        registering = registering.filter { $0.key.owner != name }
        for (key, advert) in air.adverts where key.owner == name && advert.adapter != nil {
            remove(key, now: now)
        }
    }

    /// Advances the time and returns the signals that are due.
    ///
    /// Floods advance only on timer ticks.
    mutating func advance(to now: ContinuousClock.Instant, isTick: Bool) -> [ObjectTree.Signal] {
        if isPresent {
            let powered = Set(slots.keys.filter(isPowered))
            var scanning: [String: [DiscoveryFilter]] = [:]
            for adapter in powered where scanners[adapter]?.isEmpty == false && !halted.contains(adapter) {
                scanning[adapter] = scanners[adapter]?.map { filters[adapter]?[$0] ?? .none }
            }
            air.advance(to: now, scanning: scanning, powered: powered, isTick: isTick, &tree)
        }
        return tree.takeSignals()
    }

    /// Stops bluetoothd, which loses all its state.
    mutating func stopService() {
        isPresent = false
        tree = ObjectTree()
        air = Air(settings)
        scanners = [:]
        halted = []
        filters = [:]
        registering = [:]
        advertObjects = [:]
    }

    /// Starts bluetoothd again.
    mutating func startService() {
        guard !isPresent else { return }
        isPresent = true
        start()
    }

    private mutating func start() {
        tree.add(
            "/org/bluez",
            [
                BlueZNames.agentManager: [:], BlueZNames.profileManager: [:], BlueZNames.healthManager: [:],
                BusNames.introspectable: [:],
            ]
        )
        for number in 0..<settings.adapters {
            let path = BlueZNames.adapterPath(number)
            slots[path] = settings.slots
            scanners[path] = []
            tree.add(path, Self.interfaces(ofAdapter: number, slots: settings.slots))
        }
        _ = tree.takeSignals()
    }

    private static func interfaces(ofAdapter number: Int, slots: UInt8) -> ObjectTree.Interfaces {
        let name = "virtual-hci\(number)"
        return [
            BlueZNames.adapter: [
                "Address": .string("02:00:00:00:0F:" + Hex.encode([UInt8(truncatingIfNeeded: number)]).uppercased()),
                "AddressType": .string("public"), "Name": .string(name), "Alias": .string(name),
                "Class": .uint32(0), "Powered": .bool(true), "PowerState": .string("on"),
                "Connectable": .bool(false), "Discoverable": .bool(false), "DiscoverableTimeout": .uint32(180),
                "Pairable": .bool(false), "PairableTimeout": .uint32(0), "Discovering": .bool(false),
                // The version is 5.82, the bluetoothd whose behavior was recorded. The manufacturer ID is not assigned.
                "UUIDs": .strings([]), "Modalias": .string("usb:v1D6Bp0246d0552"),
                "Manufacturer": .uint16(0xFFFF), "Version": .byte(0x0B),
                "Roles": .strings(["central", "peripheral"]),
            ],
            BlueZNames.gattManager: [:], BlueZNames.media: [:], BlueZNames.networkServer: [:],
            BlueZNames.batteryManager: [:],
            BlueZNames.simAccess: [:], BusNames.introspectable: [:], BusNames.properties: [:],
            BlueZNames.advertisingManager: [
                "ActiveInstances": .byte(0), "SupportedInstances": .byte(slots),
                "SupportedIncludes": .strings(["tx-power", "appearance", "local-name"]),
                "SupportedSecondaryChannels": .strings(["1M", "2M"]), "SupportedFeatures": .strings([]),
                "SupportedCapabilities": .properties([
                    "MaxAdvLen": .byte(31), "MaxScnRspLen": .byte(31),
                    "MinTxPower": .int16(-34), "MaxTxPower": .int16(7),
                ]),
            ],
        ]
    }
}
