// SPDX-License-Identifier: Apache-2.0

internal import SystemBus

/// The air between the adapters: which adverts are on it, and who has heard them as what device.
///
/// An advert becomes a device on every adapter that scans and hears it: after `firstSeen` it appears, with every
/// `refresh` its properties are told again, and `linger` after the advert went it disappears. A pure state machine:
/// time comes in, changes go to the object tree.
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
        let address: String
        var properties: ObjectTree.Properties
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
    private var sightings: [SightingKey: Sighting] = [:]
    private var departures: [(device: String, at: ContinuousClock.Instant)] = []
    private let settings: AirSettings

    init(_ settings: AirSettings) {
        self.settings = settings
    }

    /// Puts an advert on the air, under a new random address.
    mutating func put(_ key: Key, from adapter: String?, _ properties: ObjectTree.Properties) {
        var bytes = (0..<6).map { _ in UInt8.random(in: 0...255) }
        // The two top bits mark a static random address. Source: Bluetooth Core 5.4, Vol 6 Part B §1.3.2.1.
        bytes[0] |= 0xC0
        let address = bytes.map { Hex.text([$0]).uppercased() }.joined(separator: ":")
        adverts[key] = Advert(adapter: adapter, address: address, properties: properties)
    }

    /// Changes what an advert says; it is told at the next beat.
    mutating func change(_ key: Key, _ properties: ObjectTree.Properties, now: ContinuousClock.Instant) {
        guard adverts[key] != nil else { return }
        adverts[key]?.properties = properties
        for sighting in sightings.keys where sighting.advert == key {
            sightings[sighting]?.due = now
        }
    }

    /// Takes an advert off the air; its devices linger.
    mutating func remove(_ key: Key, now: ContinuousClock.Instant) {
        adverts[key] = nil
        for (sighting, state) in sightings where sighting.advert == key {
            sightings[sighting] = nil
            if state.isVisible { departures.append((state.device, now + settings.linger)) }
        }
    }

    /// Makes a new scan on `adapter` hear at once what was heard there before.
    mutating func scanStarted(on adapter: String, now: ContinuousClock.Instant) {
        for sighting in sightings.keys where sighting.adapter == adapter {
            sightings[sighting]?.due = now + settings.firstSeen
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
    ///   - scanning: paths of the adapters that are on and scan.
    ///   - powered: paths of the adapters that are on.
    ///   - tree: where devices come, change and go.
    mutating func advance(
        to now: ContinuousClock.Instant,
        scanning: Set<String>,
        powered: Set<String>,
        _ tree: inout ObjectTree
    ) {
        for departure in departures where departure.at <= now {
            tree.remove(departure.device)
        }
        departures.removeAll { $0.at <= now }
        // What was on its way to a scan that has ended does not arrive.
        sightings = sightings.filter { $0.value.isVisible || scanning.contains($0.key.adapter) }
        for adapter in scanning {
            for (key, advert) in adverts where hears(adapter, advert, powered) {
                hear(advert, SightingKey(adapter: adapter, advert: key), now, &tree)
            }
        }
    }

    private func hears(_ adapter: String, _ advert: Advert, _ powered: Set<String>) -> Bool {
        guard let sender = advert.adapter else { return true }
        return powered.contains(sender) && (settings.loopback || sender != adapter)
    }

    private mutating func hear(
        _ advert: Advert,
        _ key: SightingKey,
        _ now: ContinuousClock.Instant,
        _ tree: inout ObjectTree
    ) {
        guard var sighting = sightings[key] else {
            let device = key.adapter + "/dev_" + advert.address.split(separator: ":").joined(separator: "_")
            sightings[key] = Sighting(device: device, isVisible: false, due: now + settings.firstSeen)
            return
        }
        guard sighting.due <= now else { return }
        var heard = advert.properties
        if heard["RSSI"] == nil { heard["RSSI"] = .int16(.random(in: -49...(-40))) }
        if sighting.isVisible {
            tree.set(sighting.device, Names.device, heard)
        } else {
            tree.add(sighting.device, device(advert, on: key.adapter, heard))
        }
        sighting.isVisible = true
        sighting.due = now + settings.refresh
        sightings[key] = sighting
    }

    private func device(
        _ advert: Advert,
        on adapter: String,
        _ heard: ObjectTree.Properties
    ) -> ObjectTree.Interfaces {
        var properties: ObjectTree.Properties = [
            "Address": .string(advert.address), "AddressType": .string("random"),
            "Alias": .string(advert.address.split(separator: ":").joined(separator: "-")),
            "Paired": .bool(false), "Bonded": .bool(false), "Trusted": .bool(false), "Blocked": .bool(false),
            "LegacyPairing": .bool(false), "Connected": .bool(false), "ServicesResolved": .bool(false),
            "Adapter": .objectPath(adapter),
        ]
        properties.merge(heard) { $1 }
        return [Names.device: properties, BusNames.properties: [:]]
    }
}
