// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// The filter of a scanning client, as SetDiscoveryFilter takes it.
///
/// bluetoothd creates a device for any advert that at least one of an adapter's clients wants, and reports it to all of
/// them. A filter by UUID passes only adverts that list the UUID: service data under it is not enough.
struct DiscoveryFilter: Sendable {
    /// The filter of a client that has set none.
    static let none = DiscoveryFilter()

    private(set) var wantsDuplicates = false
    private var uuids: Set<String> = []
    private var weakest: Int16?
    private var acceptsLowEnergy = true

    private init() {}

    /// Reads the argument of SetDiscoveryFilter.
    ///
    /// Returns `nil` if bluetoothd would reject it.
    init?(_ fields: [String: BusValue]) {
        // bluetoothd rejects two measures of the distance.
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
            // The virtual adverts contain neither a transmission power nor a name to search for.
            case ("Pathloss", .uint16(let loss)): guard loss <= 137 else { return nil }
            case ("Discoverable", .bool), ("Pattern", .string): break
            default: return nil
            }
        }
    }

    /// Returns true if the client wants an advert with these UUIDs in its lists.
    func passes(listing listed: Set<String>, strength: BusValue?) -> Bool {
        guard acceptsLowEnergy else { return false }
        if let weakest, case .int16(let strength)? = strength, strength < weakest { return false }
        return uuids.isEmpty || !uuids.isDisjoint(with: listed)
    }
}
