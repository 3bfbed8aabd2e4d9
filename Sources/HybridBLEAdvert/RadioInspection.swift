// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// What can be told about Bluetooth without using it: whether bus and service are there, and in which state adapters are.
public struct RadioInspection: Sendable {
    /// An adapter, on or not.
    public struct Adapter: Sendable {
        /// Its name.
        public let name: AdapterName
        /// Whether it is on.
        public let isPowered: Bool
        /// What blocks it, if anything does.
        public let block: RadioBlock?
        /// Whether it can send adverts, and has a slot left for one.
        public let canAdvertise: Bool
    }

    /// Whether the bus is not the system's own.
    public let isVirtual: Bool
    /// bluetoothd's version, such as `5.66`, if it tells.
    public let serviceVersion: String?
    /// All adapters, in the order of their numbers.
    public let adapters: [Adapter]

    /// Asks the bus that `DBUS_SYSTEM_BUS_ADDRESS` names, else the system's own.
    public static func look() async throws(RadioError) -> RadioInspection {
        let connection = try await bus()
        do throws(RadioError) {
            let (_, objects) = try await BluetoothRadio.findObjects(connection)
            let inspection = RadioInspection(isVirtual: !connection.isSystemsOwn, objects: objects)
            await connection.close()
            return inspection
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Connects to the bus alone and returns whether it is not the system's own.
    public static func reachBus() async throws(RadioError) -> Bool {
        let connection = try await bus()
        let isVirtual = !connection.isSystemsOwn
        await connection.close()
        return isVirtual
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
        /// Older bluetoothds (5.66 is one) tell of blocks only where experiments are allowed, newer ones (5.82) always; the
        /// kernel always does, of real adapters.
        func block(_ name: AdapterName, _ power: String?) -> RadioBlock? {
            let kernels = isVirtual ? nil : RadioBlock(of: name, in: kernelSwitches)
            return power == "off-blocked" ? kernels ?? .byProgram : kernels
        }
        let fields = (objects.fields ?? [:]).compactMapValues { $0.fields?[BlueZ.adapter]?.fields }
        adapters = AdapterState.all(in: objects).map { state in
            let power = fields[state.name.path]?["PowerState"]?.text
            return Adapter(
                name: state.name,
                isPowered: state.isPowered,
                block: block(state.name, power),
                canAdvertise: state.canAdvertise && state.hasFreeSlot
            )
        }
        serviceVersion = fields.values.lazy.compactMap { $0["Modalias"]?.text }.compactMap(Self.version).first
    }

    /// The version in an adapter's device ID.
    ///
    /// bluetoothd gives itself out as the Linux Foundation's product 0246 with its own version, unless its main.conf has
    /// another `DeviceID`: `usb:v1D6Bp0246d0542` is 5.66 (BlueZ's src/main.c and lib/uuid-helper.c).
    static func version(modalias: String) -> String? {
        let prefix = "usb:v1D6Bp0246d"
        let digits = modalias.dropFirst(prefix.utf8.count)
        guard modalias.hasPrefix(prefix), digits.utf8.count == 4, let number = UInt16(digits, radix: 16),
            digits.first != "+"
        else { return nil }
        return "\(number >> 8).\(number & 0xFF)"
    }
}

extension BluetoothRadio {
    /// Scans until any device at all is heard, whatever it sends; `nil` if none is in this time.
    ///
    /// - Returns: how long it took.
    /// - Throws: `RadioError` if scanning cannot start or the radio fails, `CancellationError`.
    public func firstDevice(within limit: Duration) async throws -> Duration? {
        let heard = OneShot<Result<Void, RadioError>>()
        let link = self.link
        let observation: BusConnection.Observation
        do throws(BusError) {
            observation = try await link.connection.observe(link.troubleRules + link.deviceRules) { event in
                if let trouble = link.trouble(in: event) { heard.set(.failure(trouble)) }
                if link.tellsOfDevice(event) { heard.set(.success(())) }
            }
        } catch {
            throw await link.explain(error)
        }
        let start = ContinuousClock.now
        do {
            try await withScan { _ in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { _ = await heard.wait() }
                    group.addTask { try? await Task.sleep(for: limit) }
                    await group.next()
                    group.cancelAll()
                }
            }
        } catch {
            link.connection.stopObserving(observation)
            throw error
        }
        link.connection.stopObserving(observation)
        try Task.checkCancellation()
        switch heard.current {
        case .success?: return start.duration(to: .now)
        case .failure(let trouble)?: throw trouble
        case nil: return nil
        }
    }
}

extension BlueZLink {
    /// Whether a signal says that a device of this adapter was heard.
    fileprivate func tellsOfDevice(_ event: BusConnection.Event) -> Bool {
        guard case .signal(let signal) = event, signal.sender == owner, let first = signal.body.first?.text else {
            return false
        }
        if signal.isSignal(BusNames.objectManager, "InterfacesAdded") { return first.hasPrefix(adapter.path + "/") }
        // A device that is forgotten loses its signal strength, which is no sign of life.
        return signal.isSignal(BusNames.properties, "PropertiesChanged") && first == BlueZ.device
            && signal.path.hasPrefix(adapter.path + "/") && signal.body.dropFirst().first?.fields?.isEmpty == false
    }
}
