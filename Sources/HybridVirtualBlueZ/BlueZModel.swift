// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridSystemBus

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
    /// Who scans on which adapter, and what each client of an adapter wants to hear.
    var scanners: [String: Set<String>] = [:]
    var filters: [String: [String: DiscoveryFilter]] = [:]
    /// Adverts whose objects are being read, and their adapters.
    var registering: [Air.Key: String] = [:]
    /// The properties of adverts' objects as they were last told.
    var advertObjects: [Air.Key: ObjectTree.Properties] = [:]
    /// Errors for the next call of a method, by its name.
    var failures: [String: BusReply] = [:]
    /// Methods of which the next call is not answered.
    var swallowed: Set<String> = []
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
        guard let object = tree.objects[call.path] else { return .reply(.noObject(call)) }
        guard object[call.interface] != nil, MethodTable.serves(call) else { return .reply(.noMethod(call)) }
        if call.interface == BusNames.properties { return .reply(properties(call, now: now)) }
        switch call.interface {
        case Names.adapter: return .reply(adapter(call, now: now))
        case Names.advertisingManager: return advertisingManager(call, now: now)
        case Names.agentManager, Names.profileManager, Names.gattManager, Names.media:
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
        for adapter in filters.keys {
            filters[adapter]?[name] = nil
        }
        registering = registering.filter { $0.key.owner != name }
        for (key, advert) in air.adverts where key.owner == name && advert.adapter != nil {
            remove(key, now: now)
        }
    }

    /// Lets time pass and returns the signals due; floods go on at a beat only.
    mutating func advance(to now: ContinuousClock.Instant, isBeat: Bool) -> [ObjectTree.Signal] {
        if isPresent {
            let powered = Set(slots.keys.filter { tree.get($0, Names.adapter, "Powered") == .bool(true) })
            var scanning: [String: [DiscoveryFilter]] = [:]
            for adapter in powered {
                guard let names = scanners[adapter], !names.isEmpty else { continue }
                scanning[adapter] = names.map { filters[adapter]?[$0] ?? .none }
            }
            air.advance(to: now, scanning: scanning, powered: powered, &tree)
            if isBeat { air.advanceFloods(to: now, scanning: scanning, &tree) }
        }
        return tree.takeSignals()
    }

    /// The signals that go out before the answer to the call that was handled.
    mutating func takeSignalsBeforeAnswer() -> [ObjectTree.Signal] {
        tree.takeSignalsBeforeAnswer()
    }

    /// The answer to the call that is being handled goes out after what was caused so far.
    mutating func answerHere() {
        tree.answerHere()
    }

    /// Nobody scans on an adapter any more: what was heard there is forgotten.
    mutating func forgetDevices(of adapter: String) {
        air.scanEnded(on: adapter, &tree)
    }

    /// Lets an adapter hear a flood.
    mutating func start(_ flood: Flood, on adapter: String) {
        air.start(flood, on: adapter, &tree)
    }

    /// bluetoothd ends: all it knew is gone.
    mutating func vanish() {
        isPresent = false
        tree.clear()
        air = Air(settings)
        scanners = [:]
        filters = [:]
        registering = [:]
        advertObjects = [:]
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
            [
                Names.agentManager: [:], Names.profileManager: [:], Names.healthManager: [:],
                BusNames.introspectable: [:],
            ]
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
                "Address": .string("02:00:00:00:0F:" + Hex.encode([UInt8(truncatingIfNeeded: number)]).uppercased()),
                "AddressType": .string("public"), "Name": .string(name), "Alias": .string(name),
                "Class": .uint32(0), "Powered": .bool(true), "PowerState": .string("on"),
                "Connectable": .bool(false), "Discoverable": .bool(false), "DiscoverableTimeout": .uint32(180),
                "Pairable": .bool(false), "PairableTimeout": .uint32(0), "Discovering": .bool(false),
                // The version is that of the bluetoothd that this is compared with, 5.82; the manufacturer is none.
                "UUIDs": .strings([]), "Modalias": .string("usb:v1D6Bp0246d0552"),
                "Manufacturer": .uint16(0xFFFF), "Version": .byte(0x0B),
                "Roles": .strings(["central", "peripheral"]),
            ],
            Names.gattManager: [:], Names.media: [:], Names.networkServer: [:], Names.batteryManager: [:],
            Names.simAccess: [:], BusNames.introspectable: [:], BusNames.properties: [:],
            Names.advertisingManager: [
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
