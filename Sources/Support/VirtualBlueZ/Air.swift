// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// The radio medium between the adapters: the adverts being sent, and the devices that scanning adapters see.
///
/// For every adapter that scans and receives an advert, the object tree contains a device. The device appears after
/// `firstSeen` and is updated every `refresh`, if the filters of the scanning clients request that. It disappears
/// `linger` after the end of the advert, or when the scan ends. In addition, an adapter can receive a ``Flood``.
///
/// This type is a state machine without a clock: callers pass the time, and changes are made in the object tree.
struct Air: Sendable {
    /// The identity of an advert: its owner and object path, or the handle of an injected one.
    struct Key: Hashable, Sendable {
        let owner: String
        let path: String
    }

    /// An advert that is being sent.
    struct Advert: Sendable {
        /// The path of the adapter that sends the advert; `nil` if it was injected.
        let adapter: String?
        let device: VirtualBluetoothDevice
        let properties: ObjectTree.Properties
        /// The UUIDs in the advert's lists, by which scanners can filter.
        let listed: Set<String>
    }

    private struct SightingKey: Hashable, Sendable {
        let adapter: String
        let advert: Key
    }

    private struct Sighting: Sendable {
        let device: String
        var isVisible: Bool
        var due: ContinuousClock.Instant
    }

    private(set) var adverts: [Key: Advert] = [:]
    /// The current or last flood of each adapter, by the adapter's path.
    private(set) var floods: [String: Flood] = [:]
    private var sightings: [SightingKey: Sighting] = [:]
    private var expirations: [(device: String, at: ContinuousClock.Instant)] = []
    private let settings: AirSettings

    init(_ settings: AirSettings) {
        self.settings = settings
    }

    /// Starts sending an advert of an adapter.
    ///
    /// A broadcast has a new random address. The advert of a peripheral has the address of the adapter.
    mutating func put(_ key: Key, from adapter: String, of ownAddress: String, _ content: AdvertContent) {
        adverts[key] = Advert(
            adapter: adapter,
            device: content.isPeripheral ? VirtualBluetoothDevice(address: ownAddress, isPublic: true) : .random(),
            properties: content.deviceProperties,
            listed: content.listed
        )
    }

    /// Starts sending an advert that belongs to no adapter, from a new random address.
    mutating func inject(_ key: Key, _ properties: ObjectTree.Properties) {
        var listed: Set<String> = []
        if case .array(_, let uuids)? = properties["UUIDs"] { listed = Set(uuids.compactMap(\.text)) }
        adverts[key] = Advert(adapter: nil, device: .random(), properties: properties, listed: listed)
    }

    /// Stops sending an advert, whose devices remain in the object tree for the time `linger`.
    mutating func remove(_ key: Key, now: ContinuousClock.Instant) {
        adverts[key] = nil
        for (sighting, state) in sightings where sighting.advert == key {
            sightings[sighting] = nil
            if state.isVisible { expirations.append((state.device, now + settings.linger)) }
        }
    }

    /// Starts a flood that an adapter receives; it replaces an earlier flood, whose devices are removed.
    mutating func start(_ flood: Flood, on adapter: String, _ tree: inout ObjectTree) {
        for device in floods[adapter]?.devices ?? [] {
            tree.remove(device)
        }
        floods[adapter] = flood
    }

    /// Schedules devices that earlier scans on `adapter` have received to be reported to a new scan.
    mutating func scanStarted(on adapter: String, now: ContinuousClock.Instant) {
        for sighting in sightings.keys where sighting.adapter == adapter {
            sightings[sighting]?.due = now + settings.firstSeen
        }
    }

    /// Removes the devices of an adapter after its last scan has ended.
    ///
    /// Like bluetoothd, this first removes the signal strength of all devices, and then the objects.
    mutating func scanEnded(on adapter: String, _ tree: inout ObjectTree) {
        let devices =
            sightings.filter { $0.key.adapter == adapter && $0.value.isVisible }.map(\.value.device)
            + expirations.map(\.device).filter { $0.hasPrefix(adapter + "/") } + (floods[adapter]?.devices ?? [])
        sightings = sightings.filter { $0.key.adapter != adapter }
        expirations.removeAll { $0.device.hasPrefix(adapter + "/") }
        floods[adapter]?.forgetDevices()
        for device in devices {
            tree.invalidate(device, BlueZNames.device, "RSSI")
        }
        for device in devices {
            tree.remove(device)
        }
    }

    /// Forgets a device, as RemoveDevice does; the device can be received again.
    mutating func forget(_ device: String) {
        sightings = sightings.filter { $0.value.device != device }
        expirations.removeAll { $0.device == device }
    }

    /// Advances the time.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - scanning: The filters of the scanning clients, keyed by the paths of the adapters that are on and scanning.
    ///   - powered: The paths of the adapters that are on.
    ///   - isTick: True on timer ticks. Floods advance only on ticks, so that method calls do not have to wait for all
    ///     adverts that are due.
    ///   - tree: The tree in which devices appear, change and disappear.
    mutating func advance(
        to now: ContinuousClock.Instant,
        scanning: [String: [DiscoveryFilter]],
        powered: Set<String>,
        isTick: Bool,
        _ tree: inout ObjectTree
    ) {
        for expiration in expirations where expiration.at <= now {
            tree.remove(expiration.device)
        }
        expirations.removeAll { $0.at <= now }
        // If a scan has ended, devices that have not yet appeared in it are dropped.
        sightings = sightings.filter { $0.value.isVisible || scanning[$0.key.adapter] != nil }
        for (adapter, filters) in scanning {
            for (key, advert) in adverts where isReceived(advert, by: adapter, powered) {
                receive(advert, SightingKey(adapter: adapter, advert: key), filters, now, &tree)
            }
        }
        for adapter in floods.keys where isTick {
            let isScanning = scanning[adapter] != nil
            floods[adapter]?.advance(to: now, on: adapter, isScanning: isScanning, linger: settings.linger, &tree)
        }
    }

    private func isReceived(_ advert: Advert, by adapter: String, _ powered: Set<String>) -> Bool {
        guard let sender = advert.adapter else { return true }
        return powered.contains(sender) && (settings.loopback || sender != adapter)
    }

    private mutating func receive(
        _ advert: Advert,
        _ key: SightingKey,
        _ filters: [DiscoveryFilter],
        _ now: ContinuousClock.Instant,
        _ tree: inout ObjectTree
    ) {
        guard var sighting = sightings[key] else {
            let device = advert.device.path(on: key.adapter)
            sightings[key] = Sighting(device: device, isVisible: false, due: now + settings.firstSeen)
            return
        }
        guard sighting.due <= now else { return }
        var received = advert.properties
        if received["RSSI"] == nil { received["RSSI"] = .int16(.random(in: -49...(-40))) }
        guard filters.contains(where: { $0.passes(listing: advert.listed, strength: received["RSSI"]) }) else { return }
        if !sighting.isVisible {
            tree.add(sighting.device, advert.device.object(on: key.adapter, received))
        } else {
            let isWhole = filters.contains(where: \.wantsDuplicates)
            let reported: Set = isWhole ? ["RSSI", "ServiceData", "ManufacturerData"] : ["RSSI"]
            tree.set(sighting.device, BlueZNames.device, received.filter { reported.contains($0.key) })
        }
        sighting.isVisible = true
        sighting.due = now + settings.refresh
        sightings[key] = sighting
    }
}

extension Air.Key {
    /// Creates the key of the advert whose object is the first argument of a call.
    init(ofAdvertIn call: BusMessage) {
        self.init(owner: call.sender, path: call.body.first?.text ?? "")
    }
}

/// The properties of a virtual radio.
package struct AirSettings: Sendable {
    /// The number of adapters, 1 to 16.
    ///
    /// Their names are hci0, hci1 and so on.
    package var adapters: Int
    /// True if an adapter receives its own adverts, unlike a real adapter.
    package var loopback: Bool
    /// The number of adverts that an adapter can send at the same time.
    package var slots: UInt8
    /// The time from the start of a scan or an advert until the device appears.
    package var firstSeen: Duration
    /// The time between two updates of a device.
    package var refresh: Duration
    /// The time after its last advert for which a device remains known during a scan.
    package var linger: Duration

    /// Creates settings.
    ///
    /// By default, there are two adapters. They receive their own and each other's adverts about as fast as a real
    /// radio, and devices remain known for bluetoothd's TemporaryTimeout.
    package init(
        adapters: Int = 2,
        loopback: Bool = true,
        slots: UInt8 = 5,
        firstSeen: Duration = .milliseconds(100),
        refresh: Duration = .seconds(1),
        linger: Duration = .seconds(30)
    ) {
        self.adapters = min(max(adapters, 1), 16)
        self.loopback = loopback
        self.slots = slots
        self.firstSeen = firstSeen
        self.refresh = refresh
        self.linger = linger
    }
}
