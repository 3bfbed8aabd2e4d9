// SPDX-License-Identifier: Apache-2.0

internal import SystemBus

/// bluetoothd as a state machine: calls and time go in, answers and signals come out.
struct BlueZModel: Sendable {
    /// What a call leads to.
    enum Outcome: Sendable {
        /// The answer.
        case reply(BusReply)
        /// The advert's object must be read first; `finishRegistering` then gives the answer.
        case readAdvert(Air.Key)
        /// The name org.bluez is to be given up, or taken again.
        case vanish
        case comeBack
    }

    private(set) var tree = ObjectTree()
    var air: Air
    var slots: [String: UInt8] = [:]
    var scanners: [String: Set<String>] = [:]
    /// Adverts whose objects are being read, and their adapters.
    var registering: [Air.Key: String] = [:]
    /// Errors for the next call of a method, by its name.
    var failures: [String: BusReply] = [:]
    var lastInjected = 0
    private(set) var isPresent = true
    private let settings: AirSettings

    init(_ settings: AirSettings) {
        self.settings = settings
        air = Air(settings)
        start()
        _ = tree.takeSignals()
    }

    /// Answers a method call.
    mutating func answer(_ call: BusMessage, now: ContinuousClock.Instant) -> Outcome {
        if call.path == LabControl.path, call.interface == LabControl.interface {
            return LabControl.answer(call, &self, now: now)
        }
        guard isPresent else { return .reply(.notServed) }
        if let failure = failures.removeValue(forKey: call.member) { return .reply(failure) }
        if call.interface == BusNames.introspectable, call.member == "Introspect" {
            guard Introspection.knows(call.path, in: tree) else { return .reply(.unknownObject) }
            return .reply(.values([.string(Introspection.xml(of: call.path, in: tree))]))
        }
        if call.path == "/", call.interface == BusNames.objectManager, call.member == "GetManagedObjects" {
            return .reply(.values([tree.managedObjects]))
        }
        guard let object = tree.objects[call.path] else { return .reply(.unknownObject) }
        if call.interface == BusNames.properties { return .reply(properties(call, now: now)) }
        guard object[call.interface] != nil else { return .reply(.unknownMethod) }
        switch call.interface {
        case Names.adapter: return .reply(adapter(call, now: now))
        case Names.advertisingManager: return advertisingManager(call, now: now)
        case Names.agentManager, Names.profileManager, Names.gattManager, Names.monitorManager, Names.media:
            return .reply(.done)
        default:
            return .reply(.error(name: "org.bluez.Error.NotSupported", message: "Operation is not supported"))
        }
    }

    /// Somebody left the bus: what they scanned and advertised ends.
    mutating func left(_ name: String, now: ContinuousClock.Instant) {
        for (adapter, names) in scanners where names.contains(name) {
            stopScan(of: name, on: adapter)
        }
        registering = registering.filter { $0.key.owner != name }
        for (key, advert) in air.adverts where key.owner == name && advert.adapter != nil {
            remove(key, now: now)
        }
    }

    /// Lets time pass and returns the signals due.
    mutating func advance(to now: ContinuousClock.Instant) -> [ObjectTree.Signal] {
        if isPresent {
            let powered = Set(slots.keys.filter { tree.get($0, Names.adapter, "Powered") == .bool(true) })
            let scanning = powered.filter { scanners[$0]?.isEmpty == false }
            air.advance(to: now, scanning: scanning, powered: powered, &tree)
        }
        return tree.takeSignals()
    }

    /// bluetoothd ends: all it knew is gone.
    mutating func vanish() {
        isPresent = false
        tree.clear()
        air = Air(settings)
        scanners = [:]
        registering = [:]
    }

    /// bluetoothd starts again.
    mutating func comeBack() {
        guard !isPresent else { return }
        isPresent = true
        start()
        _ = tree.takeSignals()
    }

    mutating func set(_ path: String, _ interface: String, _ changes: ObjectTree.Properties) {
        tree.set(path, interface, changes)
    }

    mutating func removeObject(_ path: String) {
        tree.remove(path)
    }

    private mutating func start() {
        tree.add(
            "/org/bluez",
            [Names.agentManager: [:], Names.profileManager: [:], Names.healthManager: [:]]
        )
        for number in 0..<settings.adapters {
            let path = Names.adapterPath(number)
            slots[path] = settings.slots
            scanners[path] = []
            tree.add(path, Self.interfaces(ofAdapter: number, slots: settings.slots))
        }
    }

    private static func interfaces(ofAdapter number: Int, slots: UInt8) -> ObjectTree.Interfaces {
        let name = "virtual-hci\(number)"
        return [
            Names.adapter: [
                "Address": .string("02:00:00:00:0F:" + Hex.text([UInt8(truncatingIfNeeded: number)]).uppercased()),
                "AddressType": .string("public"), "Name": .string(name), "Alias": .string(name),
                "Class": .uint32(0x10C), "Powered": .bool(true), "PowerState": .string("on"),
                "Discoverable": .bool(false), "DiscoverableTimeout": .uint32(180),
                "Pairable": .bool(true), "PairableTimeout": .uint32(0), "Discovering": .bool(false),
                "UUIDs": .strings([]), "Modalias": .string("usb:v1D6Bp0246d0542"),
                "Roles": .strings(["central", "peripheral"]), "ExperimentalFeatures": .strings([]),
            ],
            Names.gattManager: [:], Names.media: [:], Names.networkServer: [:],
            Names.advertisingManager: [
                "ActiveInstances": .byte(0), "SupportedInstances": .byte(slots),
                "SupportedIncludes": .strings(["tx-power", "appearance", "local-name"]),
                "SupportedSecondaryChannels": .strings(["1M", "2M"]), "SupportedFeatures": .strings([]),
                "SupportedCapabilities": .properties(["MaxAdvLen": .byte(31), "MaxScnRspLen": .byte(31)]),
            ],
            Names.monitorManager: [
                "SupportedMonitorTypes": .strings(["or_patterns"]), "SupportedFeatures": .strings([]),
            ],
        ]
    }
}
