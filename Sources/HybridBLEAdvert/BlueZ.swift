// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridSystemBus

/// Names of BlueZ's D-Bus interface.
///
/// Source: BlueZ 5.66 and 5.82, doc/org.bluez.Adapter, .Device, .LEAdvertisement, .LEAdvertisingManager.
enum BlueZ {
    static let name = "org.bluez"
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let advertisement = "org.bluez.LEAdvertisement1"
    static let advertisingManager = "org.bluez.LEAdvertisingManager1"

    /// What is read of signals: of an adapter whether it is on, of a device its adverts.
    static let hearing = BusSelection(
        [adapter, "Powered", device, "ServiceData", "RSSI"] + AdvertServiceUUID.allCases.map(\.fullText)
    )
    /// What is read of all objects to choose an adapter and to tell its state.
    static let adapters = BusSelection(
        [adapter, "Powered", "PowerState", "Modalias", advertisingManager, "SupportedInstances"]
    )

    /// Longest wait for an answer of bluetoothd, which asks the controller.
    static let patience = Duration.seconds(10)
    /// Longest wait for an answer while cleaning up: the bus connection's end cleans up as well.
    static let cleanUpPatience = Duration.seconds(3)
}
