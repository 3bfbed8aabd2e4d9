// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// The air between the adapters: which adverts are on it, and who has heard them as what device.
///
/// An advert becomes a device on every adapter that scans and hears it: after `firstSeen` it appears, with every
/// `refresh` it is told again, as far as a scanner wants that, and it disappears `linger` after the advert went, or when the
/// scan ends. Besides these there may be a flood of strangers. A pure state machine: time comes in, changes go to
/// the object tree.
struct Air: Sendable {
    /// Names an advert: who registered it and under which path, or the handle of an injected one.
    struct Key: Hashable, Sendable {
        let owner: String
        let path: String
    }

    /// An advert on the air.
    struct Advert: Sendable {
        /// Path of the adapter that sends it; `nil` if it was injected.
        let adapter: String?
        let address: DeviceAddress
        let properties: ObjectTree.Properties
        /// The UUIDs in its lists, by which scanners may filter.
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
    /// The floods that adapters hear, or have heard, by the adapter's path.
    private(set) var floods: [String: Flood] = [:]
    private var sightings: [SightingKey: Sighting] = [:]
    private var departures: [(device: String, at: ContinuousClock.Instant)] = []
    private let settings: AirSettings

    init(_ settings: AirSettings) {
        self.settings = settings
    }

    /// Puts an advert of an adapter on the air: a broadcast under a new random address, else under its own.
    mutating func put(_ key: Key, from adapter: String, of ownAddress: String, _ content: AdvertContent) {
        let address = content.isPeripheral ? DeviceAddress(text: ownAddress, isPublic: true) : .random()
        let properties = content.deviceProperties
        adverts[key] = Advert(adapter: adapter, address: address, properties: properties, listed: content.listed)
    }

    /// Puts an advert on the air that no adapter sends, under a new random address.
    mutating func inject(_ key: Key, _ properties: ObjectTree.Properties) {
        var listed: Set<String> = []
        if case .array(_, let uuids)? = properties["UUIDs"] { listed = Set(uuids.compactMap(\.text)) }
        adverts[key] = Advert(adapter: nil, address: .random(), properties: properties, listed: listed)
    }

    /// Takes an advert off the air; its devices linger.
    mutating func remove(_ key: Key, now: ContinuousClock.Instant) {
        adverts[key] = nil
        for (sighting, state) in sightings where sighting.advert == key {
            sightings[sighting] = nil
            if state.isVisible { departures.append((state.device, now + settings.linger)) }
        }
    }

    /// Lets an adapter hear a flood, in place of an earlier one, whose devices go.
    mutating func start(_ flood: Flood, on adapter: String, _ tree: inout ObjectTree) {
        for device in floods[adapter]?.devices ?? [] {
            tree.remove(device)
        }
        floods[adapter] = flood
    }

    /// Makes a new scan on `adapter` hear at once what was heard there before.
    mutating func scanStarted(on adapter: String, now: ContinuousClock.Instant) {
        for sighting in sightings.keys where sighting.adapter == adapter {
            sightings[sighting]?.due = now + settings.firstSeen
        }
    }

    /// Drops the devices of an adapter where nobody scans any more: their signal strength is void, then they go.
    mutating func scanEnded(on adapter: String, _ tree: inout ObjectTree) {
        let devices =
            sightings.filter { $0.key.adapter == adapter && $0.value.isVisible }.map(\.value.device)
            + departures.map(\.device).filter { $0.hasPrefix(adapter + "/") } + (floods[adapter]?.devices ?? [])
        sightings = sightings.filter { $0.key.adapter != adapter }
        departures.removeAll { $0.device.hasPrefix(adapter + "/") }
        floods[adapter]?.forgetDevices()
        for device in devices {
            tree.invalidate(device, Names.device, "RSSI")
        }
        for device in devices {
            tree.remove(device)
        }
    }

    /// Forgets a device, as RemoveDevice does; it may be heard again.
    mutating func forget(_ device: String) {
        sightings = sightings.filter { $0.value.device != device }
        departures.removeAll { $0.device == device }
    }

    /// Lets time pass.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - scanning: paths of the adapters that are on and scan, with what their clients want to hear.
    ///   - powered: paths of the adapters that are on.
    ///   - tree: where devices come, change and go.
    mutating func advance(
        to now: ContinuousClock.Instant,
        scanning: [String: [DiscoveryFilter]],
        powered: Set<String>,
        _ tree: inout ObjectTree
    ) {
        for departure in departures where departure.at <= now {
            tree.remove(departure.device)
        }
        departures.removeAll { $0.at <= now }
        // What was on its way to a scan that has ended does not arrive.
        sightings = sightings.filter { $0.value.isVisible || scanning[$0.key.adapter] != nil }
        for (adapter, filters) in scanning {
            for (key, advert) in adverts where hears(adapter, advert, powered) {
                hear(advert, SightingKey(adapter: adapter, advert: key), filters, now, &tree)
            }
        }
    }

    /// Lets the floods go on; only at a beat, so that calls never wait behind all that is due.
    mutating func advanceFloods(
        to now: ContinuousClock.Instant,
        scanning: [String: [DiscoveryFilter]],
        _ tree: inout ObjectTree
    ) {
        for adapter in floods.keys {
            let isScanning = scanning[adapter] != nil
            floods[adapter]?.advance(to: now, on: adapter, isScanning: isScanning, linger: settings.linger, &tree)
        }
    }

    private func hears(_ adapter: String, _ advert: Advert, _ powered: Set<String>) -> Bool {
        guard let sender = advert.adapter else { return true }
        return powered.contains(sender) && (settings.loopback || sender != adapter)
    }

    private mutating func hear(
        _ advert: Advert,
        _ key: SightingKey,
        _ filters: [DiscoveryFilter],
        _ now: ContinuousClock.Instant,
        _ tree: inout ObjectTree
    ) {
        guard var sighting = sightings[key] else {
            let device = advert.address.path(on: key.adapter)
            sightings[key] = Sighting(device: device, isVisible: false, due: now + settings.firstSeen)
            return
        }
        guard sighting.due <= now else { return }
        var heard = advert.properties
        if heard["RSSI"] == nil { heard["RSSI"] = .int16(.random(in: -49...(-40))) }
        guard filters.contains(where: { $0.passes(listing: advert.listed, strength: heard["RSSI"]) }) else { return }
        if !sighting.isVisible {
            tree.add(sighting.device, advert.address.device(on: key.adapter, heard))
        } else {
            let isWhole = filters.contains(where: \.wantsDuplicates)
            let told: Set = isWhole ? ["RSSI", "ServiceData", "ManufacturerData"] : ["RSSI"]
            tree.set(sighting.device, Names.device, heard.filter { told.contains($0.key) })
        }
        sighting.isVisible = true
        sighting.due = now + settings.refresh
        sightings[key] = sighting
    }
}
