// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// The state of an adapter, read from the reply to GetManagedObjects.
struct AdapterState: Sendable {
    let name: AdapterName
    let isPowered: Bool
    /// True if the adapter has Bluetooth Low Energy, or bluetoothd does not say so.
    let hasLowEnergy: Bool
    let canAdvertise: Bool
    let hasFreeSlot: Bool

    /// Returns all adapters among BlueZ's objects, sorted by number.
    ///
    /// Malformed objects are skipped.
    static func all(in objects: BusValue) -> [AdapterState] {
        let adapters = (objects.fields ?? [:]).compactMap { path, object -> AdapterState? in
            guard let name = AdapterName(path: path), let interfaces = object.fields,
                let adapter = interfaces[BlueZ.adapter]?.fields
            else { return nil }
            let manager = interfaces[BlueZ.advertisingManager]?.fields
            return AdapterState(
                name: name,
                isPowered: adapter["Powered"]?.flag ?? false,
                hasLowEnergy: Self.hasLowEnergy(adapter["Roles"]),
                canAdvertise: manager != nil,
                // BlueZ subtracts the used slots from SupportedInstances.
                hasFreeSlot: manager.map { $0["SupportedInstances"] != .byte(0) } ?? false
            )
        }
        return adapters.sorted { $0.name.number < $1.name.number }
    }

    /// Reads the property `Roles`, which has no role for an adapter that knows Bluetooth Classic only.
    private static func hasLowEnergy(_ roles: BusValue?) -> Bool {
        guard case .array(_, let roles)? = roles else { return true }
        return roles.contains(.string("central")) || roles.contains(.string("central-peripheral"))
    }

    /// Returns the adapter for `role`: the one named `wanted`, or the first that is on and supports the role.
    ///
    /// For an advertiser, adapters with a free advertising slot are preferred.
    static func choose(
        from adapters: [AdapterState],
        named wanted: AdapterName?,
        for role: BluetoothRadio.Role
    ) throws(RadioError) -> AdapterName {
        if let wanted {
            guard let adapter = adapters.first(where: { $0.name == wanted }) else { throw .adapterNotFound(wanted) }
            guard adapter.isPowered else { throw .adapterOff(wanted) }
            guard adapter.hasLowEnergy else { throw .noLowEnergy(wanted) }
            guard role == .scanner || adapter.canAdvertise else { throw .failed("\(wanted) cannot advertise") }
            return wanted
        }
        guard let any = adapters.first else { throw .noAdapter }
        let usable = adapters.filter(\.hasLowEnergy)
        guard let first = usable.first else { throw .noLowEnergy(any.name) }
        let powered = usable.filter(\.isPowered)
        guard let firstPowered = powered.first else { throw .adapterOff(first.name) }
        guard role == .advertiser else { return firstPowered.name }
        let able = powered.filter(\.canAdvertise)
        guard let best = able.first(where: \.hasFreeSlot) ?? able.first else {
            throw .failed("no adapter that is on can advertise")
        }
        return best.name
    }
}
