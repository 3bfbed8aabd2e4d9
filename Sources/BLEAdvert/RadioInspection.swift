// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus
internal import HybridPrimitives

/// The state of Bluetooth: bus, service and adapters.
///
/// It is determined without using the radio.
public struct RadioInspection: Sendable {
    /// The state of an adapter.
    public struct Adapter: Sendable {
        /// The adapter's name.
        public let name: AdapterName
        /// True if the adapter is on.
        public let isPowered: Bool
        /// The block that keeps the adapter off, if any.
        public let block: RadioBlock?
        /// True if the adapter has Bluetooth Low Energy, or bluetoothd does not say so.
        public let hasLowEnergy: Bool
        /// True if the adapter can send adverts and has a free slot.
        public let canAdvertise: Bool
    }

    /// True if the bus is not the system bus.
    public let isVirtual: Bool
    /// The version of bluetoothd, such as `5.66`, if it is known.
    public let serviceVersion: String?
    /// All adapters, sorted by number.
    public let adapters: [Adapter]

    /// Inspects the bus that `DBUS_SYSTEM_BUS_ADDRESS` names; by default the system bus.
    public static func inspect() async throws(RadioError) -> RadioInspection {
        let connection = try await bus()
        return try await withCleanup {
            await connection.close()
        } of: { () throws(RadioError) in
            let (_, objects) = try await BluetoothRadio.findObjects(connection)
            return RadioInspection(isVirtual: !connection.isSystemBus, objects: objects)
        }
    }

    /// Connects to the bus only, without contacting bluetoothd.
    ///
    /// - Returns: True if the bus is not the system bus, and the cause and the remedy if it only cannot be verified.
    public static func reachBus() async throws(RadioError) -> (isVirtual: Bool, unverifiedBus: String?) {
        let connection = try await bus()
        await connection.close()
        return (!connection.isSystemBus, connection.origin.doubt)
    }

    private static func bus() async throws(RadioError) -> BusConnection {
        do throws(BusError) {
            return try await BusConnection.connect(to: .system)
        } catch {
            throw RadioError(error)
        }
    }

    init(isVirtual: Bool, objects: BusValue, kernelSwitches: String = RadioBlock.kernelSwitches) {
        self.isVirtual = isVirtual
        let fields = (objects.fields ?? [:]).compactMapValues { $0.fields?[BlueZ.adapter]?.fields }
        adapters = AdapterState.all(in: objects).map { state in
            // The kernel reports blocks of real adapters. bluetoothd 5.82 also reports them, but bluetoothd 5.66 does
            // so only in experimental mode.
            let kernelBlock = isVirtual ? nil : RadioBlock(of: state.name, in: kernelSwitches)
            let isBlocked = fields[state.name.path]?["PowerState"]?.text == "off-blocked"
            return Adapter(
                name: state.name,
                isPowered: state.isPowered,
                block: isBlocked ? kernelBlock ?? .soft : kernelBlock,
                hasLowEnergy: state.hasLowEnergy,
                canAdvertise: state.canAdvertise && state.hasFreeSlot
            )
        }
        serviceVersion = fields.values.lazy.compactMap { $0["Modalias"]?.text }.compactMap(Self.version).first
    }

    /// Returns the version of bluetoothd in an adapter's device ID; `nil` if the ID has another format.
    ///
    /// The device ID of bluetoothd is the Linux Foundation's product 0246, unless `DeviceID` in main.conf sets another
    /// one. The version follows: `usb:v1D6Bp0246d0542` is version 5.66 (BlueZ's src/main.c and lib/uuid-helper.c).
    static func version(modalias: String) -> String? {
        let prefix = "usb:v1D6Bp0246d"
        guard modalias.hasPrefix(prefix), let version = Hex.decode(modalias.dropFirst(prefix.utf8.count), length: 2)
        else { return nil }
        return "\(version[0]).\(version[1])"
    }
}

extension BluetoothRadio {
    /// Scans until an advert of any device is received.
    ///
    /// - Returns: The time until the first advert; `nil` if no advert is received within `limit`.
    /// - Throws: `RadioError` if scanning cannot start or the radio fails, `CancellationError`.
    public func firstDevice(within limit: Duration) async throws -> Duration? {
        let result = OneShot<Result<Void, RadioError>>()
        let link = self.link
        let observation = try await link.observe(link.deviceRules) { event in
            if let failure = link.failure(in: event) { result.set(.failure(failure)) }
            if link.reportsDevice(event) { result.set(.success(())) }
        }
        defer { link.connection.stopObserving(observation) }
        let start = ContinuousClock.now
        try await withScan { _ in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = await result.wait() }
                group.addTask { try? await Task.sleep(for: limit) }
                await group.next()
                group.cancelAll()
            }
        }
        try Task.checkCancellation()
        guard let result = result.current else { return nil }
        try result.get()
        return start.duration(to: .now)
    }
}

extension BlueZAdapter {
    /// Returns true if a signal reports that this adapter has received an advert of a device.
    fileprivate func reportsDevice(_ event: BusConnection.Event) -> Bool {
        guard case .signal(let signal) = event, signal.sender == owner, let first = signal.body.first?.text else {
            return false
        }
        if signal.isSignal(BusNames.objectManager, "InterfacesAdded") { return first.hasPrefix(adapter.path + "/") }
        // When a device is removed, a signal without values invalidates its signal strength.
        return signal.isSignal(BusNames.properties, "PropertiesChanged") && first == BlueZ.device
            && signal.path.hasPrefix(adapter.path + "/") && signal.body.dropFirst().first?.fields?.isEmpty == false
    }
}
