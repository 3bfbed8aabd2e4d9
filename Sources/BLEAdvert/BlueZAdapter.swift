// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridDBus

/// An adapter of the bluetoothd instance that was found when the radio was opened.
///
/// Calls are addressed to the unique name of that instance, and only signals from that name are accepted. Therefore
/// neither a restarted service nor another program on the bus can be mistaken for it.
struct BlueZAdapter: Sendable {
    let connection: BusConnection
    let owner: String
    let adapter: AdapterName

    /// The match rules for signals that report the end of the service or adapter.
    var failureRules: [String] {
        [
            "type='signal',sender='\(BusNames.daemon)',interface='\(BusNames.daemon)',member='NameOwnerChanged',"
                + "arg0='\(BlueZ.name)'",
            "type='signal',sender='\(BlueZ.name)',interface='\(BusNames.properties)',member='PropertiesChanged',"
                + "path='\(adapter.path)',arg0='\(BlueZ.adapter)'",
            "type='signal',sender='\(BlueZ.name)',interface='\(BusNames.objectManager)',member='InterfacesRemoved',"
                + "arg0path='\(adapter.path)'",
        ]
    }

    /// The match rules for signals that report devices.
    ///
    /// `arg0path` with a trailing slash matches all paths below it.
    var deviceRules: [String] {
        [
            "type='signal',sender='\(BlueZ.name)',interface='\(BusNames.objectManager)',member='InterfacesAdded',"
                + "arg0path='\(adapter.path)/'",
            "type='signal',sender='\(BlueZ.name)',interface='\(BusNames.properties)',member='PropertiesChanged',"
                + "path_namespace='\(adapter.path)',arg0='\(BlueZ.device)'",
        ]
    }

    /// Returns the failure that an event reports, or `nil` if the radio remains usable.
    func failure(in event: BusConnection.Event) -> RadioError? {
        guard case .signal(let signal) = event else { return .bluetoothServiceGone }
        if signal.sender == BusNames.daemon, signal.isSignal(BusNames.daemon, "NameOwnerChanged") {
            let isBlueZ = signal.body.count == 3 && signal.body[0].text == BlueZ.name
            return isBlueZ && signal.body[2].text != owner ? .bluetoothServiceGone : nil
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

    /// Subscribes to signals that report the end of the service or adapter, and to those that `otherRules` match.
    ///
    /// - Throws: `RadioError` or `CancellationError`.
    func observe(
        _ otherRules: [String] = [],
        _ observer: @escaping @Sendable (BusConnection.Event) -> Void
    ) async throws -> BusConnection.Observation {
        do throws(BusError) {
            return try await connection.observe(failureRules + otherRules, observer)
        } catch {
            throw await explain(error)
        }
    }

    /// Calls a method of the adapter.
    func call(_ interface: String, _ member: String, _ arguments: [BusValue] = []) async throws(BusError) {
        _ = try await connection.call(owner, adapter.path, interface, member, arguments, timeout: BlueZ.timeout)
    }

    /// Returns a Boolean property of the adapter, such as `Powered`, or `nil` if it has another type.
    func adapterFlag(_ property: String, timeout: Duration = BlueZ.timeout) async throws(BusError) -> Bool? {
        try await connection.call(
            owner,
            adapter.path,
            BusNames.properties,
            "Get",
            [.string(BlueZ.adapter), .string(property)],
            timeout: timeout
        ).first?.flag
    }

    /// Calls a method that releases a resource, even if the task is canceled, and ignores the result.
    func cleanUp(_ interface: String, _ member: String, _ arguments: [BusValue] = []) async {
        _ = try? await connection.call(
            owner,
            adapter.path,
            interface,
            member,
            arguments,
            timeout: BlueZ.cleanUpTimeout,
            cancellable: false
        )
    }

    /// Returns the radio error for an error of a call to the adapter, or a `CancellationError`.
    ///
    /// While the adapter is off, BlueZ replies to many calls with `org.bluez.Error.Failed`, and while it is being turned
    /// on, with `org.bluez.Error.NotReady`. In these cases the state of the adapter is read, so that the cause can be
    /// reported.
    func explain(_ error: BusError) async -> any Error {
        if error == .cancelled { return CancellationError() }
        let meaning = RadioError(error, adapter: adapter)
        let isNotReady = error.name == BlueZ.notReady
        guard meaning.isUnspecific || isNotReady else { return meaning }
        let isPowered = try? await adapterFlag("Powered", timeout: BlueZ.cleanUpTimeout)
        if isPowered == false { return RadioError.adapterOff(adapter) }
        return isPowered == true && isNotReady ? RadioError.busy(BlueZ.notReady) : meaning
    }

    /// Repeats a call while bluetoothd refuses it with an error that may pass and the adapter is on.
    ///
    /// - Parameters:
    ///   - patience: The time after which a refusal is final.
    ///   - retrying: Called with the first refusal that may pass.
    ///   - attempt: The call; its argument is true from the second time on.
    /// - Throws: `RadioError` or `CancellationError`.
    func untilAccepted(
        within patience: Duration,
        _ retrying: @Sendable (RadioError) -> Void,
        _ attempt: (_ isRetry: Bool) async throws(BusError) -> Void
    ) async throws {
        let end = ContinuousClock.now + patience
        var (delay, isRetry) = (Self.retryDelays.lowerBound, false)
        while true {
            do throws(BusError) {
                return try await attempt(isRetry)
            } catch {
                let cause = await explain(error)
                guard BlueZ.mayPass(error), let failure = cause as? RadioError, failure != .adapterOff(adapter),
                    ContinuousClock.now + delay < end
                else { throw cause }
                if !isRetry { retrying(failure) }
            }
            try await Task.sleep(for: delay)
            (delay, isRetry) = (min(delay * 2, Self.retryDelays.upperBound), true)
        }
    }
}

extension BlueZAdapter {
    /// The time within which the service or adapter may disappear after the adapter has turned off.
    static let causeTimeout = Duration.seconds(1)
    private static let pollInterval = Duration.milliseconds(100)
    /// The delays between two attempts; each is twice as long as the one before.
    private static let retryDelays = Duration.milliseconds(250)...Duration.seconds(2)

    /// Returns the reason why an adapter is off.
    ///
    /// bluetoothd turns its adapters off before it exits, and an unplugged adapter turns off before it disappears. In
    /// both cases, the remedy for an adapter that is off would be wrong.
    ///
    /// - Returns: The error for a missing service or adapter, if either disappears within a second; otherwise `error`.
    ///   Any error other than `.adapterOff` is returned immediately.
    func cause(behind error: any Error) async -> any Error {
        guard let off = error as? RadioError, off == .adapterOff(adapter) else { return error }
        return await cause(behind: off)
    }

    /// Returns the underlying cause of `.adapterOff`; any other error is returned unchanged.
    func cause(behind error: RadioError) async -> RadioError {
        guard error == .adapterOff(adapter) else { return error }
        let end = ContinuousClock.now + Self.causeTimeout
        while ContinuousClock.now < end {
            do throws(BusError) {
                if try await adapterFlag("Powered", timeout: BlueZ.cleanUpTimeout) == true { return error }
            } catch {
                let worse: [RadioError] = [.bluetoothServiceGone, .adapterNotFound(adapter)]
                let meaning = RadioError(error, adapter: adapter)
                return worse.contains(meaning) ? meaning : .adapterOff(adapter)
            }
            guard (try? await Task.sleep(for: Self.pollInterval)) != nil else { break }
        }
        return error
    }
}

/// Names and timeouts of BlueZ's D-Bus interface.
///
/// Source: BlueZ 5.66 and 5.82, doc/org.bluez.Adapter, .Device, .LEAdvertisement, .LEAdvertisingManager.
enum BlueZ {
    static let name = "org.bluez"
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let advertisement = "org.bluez.LEAdvertisement1"
    static let advertisingManager = "org.bluez.LEAdvertisingManager1"
    static let notReady = "org.bluez.Error.NotReady"

    /// The properties read from signals: the state of an adapter and the adverts of a device.
    static let scanProperties = BusSelection(
        [adapter, "Powered", "Discovering", device, "ServiceData", "RSSI"] + AdvertServiceUUID.allCases.map(\.fullText)
    )
    /// The properties read from all objects to choose an adapter and to report its state.
    static let adapterProperties = BusSelection(
        [adapter, "Powered", "PowerState", "Modalias", "Roles", advertisingManager, "SupportedInstances"]
    )

    /// The timeout of a call.
    ///
    /// bluetoothd may have to wait for the controller.
    static let timeout = Duration.seconds(10)
    /// The timeout of a clean-up call.
    ///
    /// It can be short, because bluetoothd also cleans up when the bus connection ends.
    static let cleanUpTimeout = Duration.seconds(3)
    /// The time after which a refusal to start discovery is final.
    ///
    /// It is longer than two of bluetoothd's pauses.
    static let discoveryPatience = Duration.seconds(15)
    /// The time after which a refusal to send an advert is final.
    static let advertisingPatience = Duration.seconds(5)
    /// The time without discovery after which it is started again.
    ///
    /// bluetoothd pauses for 5 s between two rounds of discovery (`IDLE_DISCOV_TIMEOUT` in its src/adapter.c).
    static let longestPause = Duration.seconds(8)

    /// Returns true if bluetoothd may accept the same call later.
    static func mayPass(_ error: BusError) -> Bool {
        [notReady, "org.bluez.Error.InProgress", "org.bluez.Error.Failed"].contains(error.name)
    }
}
