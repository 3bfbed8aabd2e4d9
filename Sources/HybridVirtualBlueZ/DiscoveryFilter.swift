// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// What a scanning client wants to hear, as SetDiscoveryFilter takes it.
///
/// bluetoothd makes a device of what any of an adapter's clients wants, and tells all of them of it. A filter by UUID
/// passes only what lists the UUID: service data under it is not enough.
struct DiscoveryFilter: Sendable {
    /// What is heard by a client that asked for nothing in particular.
    static let none = DiscoveryFilter()

    private(set) var wantsDuplicates = false
    private var uuids: Set<String> = []
    private var weakest: Int16?
    private var hearsLowEnergy = true

    private init() {}

    /// Reads the call's argument; `nil` if bluetoothd would not take it.
    init?(_ fields: [String: BusValue]) {
        // A distance that is measured in two ways.
        guard fields["RSSI"] == nil || fields["Pathloss"] == nil else { return nil }
        for (name, value) in fields {
            switch (name, value) {
            case ("Transport", .string(let transport)):
                guard ["auto", "le", "bredr"].contains(transport) else { return nil }
                hearsLowEnergy = transport != "bredr"
            case ("DuplicateData", .bool(let wanted)): wantsDuplicates = wanted
            case ("UUIDs", .array("s", let texts)):
                let texts = texts.compactMap(\.text)
                guard texts.allSatisfy(AdvertContent.isUUID) else { return nil }
                uuids = Set(texts.map(AdvertContent.fullUUID))
            case ("RSSI", .int16(let strength)):
                guard (-127...20).contains(strength) else { return nil }
                weakest = strength
            // Who sends adverts here tells neither its transmitting power nor a name to be searched for.
            case ("Pathloss", .uint16(let loss)): guard loss <= 137 else { return nil }
            case ("Discoverable", .bool), ("Pattern", .string): break
            default: return nil
            }
        }
    }

    /// Whether an advert with these UUIDs in its lists is wanted.
    func passes(listing listed: Set<String>, strength: BusValue?) -> Bool {
        guard hearsLowEnergy else { return false }
        if let weakest, case .int16(let strength)? = strength, strength < weakest { return false }
        return uuids.isEmpty || !uuids.isDisjoint(with: listed)
    }
}
