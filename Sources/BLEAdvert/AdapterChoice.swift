// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// The state of an adapter, read from the reply to GetManagedObjects.
struct AdapterState: Sendable {
    let name: AdapterName
    let isPowered: Bool
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
                canAdvertise: manager != nil,
                // BlueZ subtracts the used slots from SupportedInstances.
                hasFreeSlot: manager.map { $0["SupportedInstances"] != .byte(0) } ?? false
            )
        }
        return adapters.sorted { $0.name.number < $1.name.number }
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
            guard role == .scanner || adapter.canAdvertise else { throw .failed("\(wanted) cannot advertise") }
            return wanted
        }
        guard let first = adapters.first else { throw .noAdapter }
        let powered = adapters.filter(\.isPowered)
        guard let firstPowered = powered.first else { throw .adapterOff(first.name) }
        guard role == .advertiser else { return firstPowered.name }
        let able = powered.filter(\.canAdvertise)
        guard let best = able.first(where: \.hasFreeSlot) ?? able.first else {
            throw .failed("no adapter that is on can advertise")
        }
        return best.name
    }
}
