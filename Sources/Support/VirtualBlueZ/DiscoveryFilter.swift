// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// The filter that a scanning client has set with SetDiscoveryFilter.
///
/// If an advert passes the filter of at least one client of an adapter, bluetoothd creates a device and reports it to
/// all clients. A UUID filter passes only adverts that list the UUID; service data with that UUID is not enough.
struct DiscoveryFilter: Sendable {
    /// The filter of a client that has set none.
    static let none = DiscoveryFilter()

    private(set) var wantsDuplicates = false
    private var uuids: Set<String> = []
    private var weakest: Int16?
    private var acceptsLowEnergy = true

    private init() {}

    /// Creates a filter from the argument of SetDiscoveryFilter; `nil` if bluetoothd would reject it.
    init?(_ fields: [String: BusValue]) {
        // bluetoothd rejects a filter with both RSSI and Pathloss.
        guard fields["RSSI"] == nil || fields["Pathloss"] == nil else { return nil }
        for (name, value) in fields {
            switch (name, value) {
            case ("Transport", .string(let transport)):
                guard ["auto", "le", "bredr"].contains(transport) else { return nil }
                acceptsLowEnergy = transport != "bredr"
            case ("DuplicateData", .bool(let wanted)): wantsDuplicates = wanted
            case ("UUIDs", _):
                guard let listed = AdvertContent.uuids(value) else { return nil }
                uuids = Set(listed)
            case ("RSSI", .int16(let strength)):
                guard (-127...20).contains(strength) else { return nil }
                weakest = strength
            // These are only validated: virtual adverts contain no transmission power, and patterns have no effect.
            case ("Pathloss", .uint16(let loss)): guard loss <= 137 else { return nil }
            case ("Discoverable", .bool), ("Pattern", .string): break
            default: return nil
            }
        }
    }

    /// Returns true if an advert that lists these UUIDs passes the filter.
    func passes(listing listed: Set<String>, strength: BusValue?) -> Bool {
        guard acceptsLowEnergy else { return false }
        if let weakest, case .int16(let strength)? = strength, strength < weakest { return false }
        return uuids.isEmpty || !uuids.isDisjoint(with: listed)
    }
}
