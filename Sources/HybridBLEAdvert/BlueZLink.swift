// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// One adapter of the bluetoothd that was found when the radio was opened.
///
/// Calls go to bluetoothd's unique name and signals count only from it, so that neither a restarted service nor
/// anybody else on the bus can be taken for it.
struct BlueZLink: Sendable {
    let connection: BusConnection
    let owner: String
    let adapter: AdapterName

    /// Signals that tell of the end of service or adapter.
    var troubleRules: [String] {
        [
            "type='signal',sender='\(BusNames.daemon)',interface='\(BusNames.daemon)',member='NameOwnerChanged',"
                + "arg0='\(BlueZ.name)'",
            "type='signal',sender='\(BlueZ.name)',interface='\(BusNames.properties)',member='PropertiesChanged',"
                + "path='\(adapter.path)',arg0='\(BlueZ.adapter)'",
            "type='signal',sender='\(BlueZ.name)',interface='\(BusNames.objectManager)',member='InterfacesRemoved',"
                + "arg0path='\(adapter.path)'",
        ]
    }

    /// Signals that tell of devices heard; a path that ends with a slash stands for all below it.
    var deviceRules: [String] {
        [
            "type='signal',sender='\(BlueZ.name)',interface='\(BusNames.objectManager)',member='InterfacesAdded',"
                + "arg0path='\(adapter.path)/'",
            "type='signal',sender='\(BlueZ.name)',interface='\(BusNames.properties)',member='PropertiesChanged',"
                + "path_namespace='\(adapter.path)',arg0='\(BlueZ.device)'",
        ]
    }

    /// What an event means for a radio in use; `nil` if it may go on.
    func trouble(in event: BusConnection.Event) -> RadioError? {
        guard case .signal(let signal) = event else { return .bluetoothServiceGone }
        if signal.sender == BusNames.daemon, signal.isSignal(BusNames.daemon, "NameOwnerChanged") {
            let isOurs = signal.body.count == 3 && signal.body[0].text == BlueZ.name
            return isOurs && signal.body[2].text != owner ? .bluetoothServiceGone : nil
        }
        guard signal.sender == owner, signal.body.count >= 2 else { return nil }
        if signal.isSignal(BusNames.properties, "PropertiesChanged"), signal.path == adapter.path,
            signal.body[0].text == BlueZ.adapter
        {
            return signal.body[1].fields?["Powered"]?.flag == false ? .adapterOff(adapter) : nil
        }
        if signal.isSignal(BusNames.objectManager, "InterfacesRemoved"), signal.body[0].text == adapter.path,
            case .array(_, let interfaces) = signal.body[1], interfaces.contains(.string(BlueZ.adapter))
        {
            return .adapterNotFound(adapter)
        }
        return nil
    }

    /// Calls a method of the adapter.
    func call(
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = []
    ) async throws(BusError) {
        _ = try await connection.call(owner, adapter.path, interface, member, arguments, timeout: BlueZ.patience)
    }

    /// Calls a method that ends something; also in a cancelled task, and without caring how it went.
    func cleanUp(_ interface: String, _ member: String, _ arguments: [BusValue] = []) async {
        _ = try? await connection.call(
            owner,
            adapter.path,
            interface,
            member,
            arguments,
            timeout: BlueZ.cleanUpPatience,
            cancellable: false
        )
    }

    /// What `error` of a call to the adapter means; throws on if the task was cancelled.
    ///
    /// BlueZ answers a plain Failed to much that an adapter cannot do while it is off.
    func explain(_ error: BusError) async -> any Error {
        if error == .cancelled { return CancellationError() }
        let meaning = RadioError(error, adapter: adapter)
        guard case .failed = meaning else { return meaning }
        let powered = try? await connection.call(
            owner,
            adapter.path,
            BusNames.properties,
            "Get",
            [.string(BlueZ.adapter), .string("Powered")],
            timeout: BlueZ.cleanUpPatience
        )
        return powered?.first?.flag == false ? RadioError.adapterOff(adapter) : meaning
    }
}
