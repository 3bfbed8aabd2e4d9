// SPDX-License-Identifier: Apache-2.0

/// Names of BlueZ's D-Bus interface.
///
/// Source: BlueZ 5.66 and 5.82, doc/org.bluez.Adapter, .Device, .LEAdvertisement, .LEAdvertisingManager.
enum BlueZ {
    static let name = "org.bluez"
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let advertisement = "org.bluez.LEAdvertisement1"
    static let advertisingManager = "org.bluez.LEAdvertisingManager1"

    /// Longest wait for an answer of bluetoothd, which asks the controller.
    static let patience = Duration.seconds(10)
    /// Longest wait for an answer while cleaning up: the bus connection's end cleans up as well.
    static let cleanUpPatience = Duration.seconds(3)
}
