// SPDX-License-Identifier: Apache-2.0

internal import SystemBus

/// Names of the interfaces that are served.
enum Names {
    static let bluez = "org.bluez"
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let advertisement = "org.bluez.LEAdvertisement1"
    static let advertisingManager = "org.bluez.LEAdvertisingManager1"
    static let agentManager = "org.bluez.AgentManager1"
    static let profileManager = "org.bluez.ProfileManager1"
    static let healthManager = "org.bluez.HealthManager1"
    static let gattManager = "org.bluez.GattManager1"
    static let media = "org.bluez.Media1"
    static let networkServer = "org.bluez.NetworkServer1"
    static let monitorManager = "org.bluez.AdvertisementMonitorManager1"

    static func adapterPath(_ number: Int) -> String { "/org/bluez/hci\(number)" }
}

/// D-Bus errors in the words of bluetoothd 5.66 and 5.82 (`src/error.c`, `src/advertising.c`, `src/adapter.c`).
extension BusReply {
    static let done = BusReply.values([])
    static let notReady = BusReply.error(name: "org.bluez.Error.NotReady", message: "Resource Not Ready")
    static let blocked = BusReply.error(name: "org.bluez.Error.Blocked", message: "Blocked through rfkill")
    static let inProgress = BusReply.error(
        name: "org.bluez.Error.InProgress",
        message: "Operation already in progress"
    )
    static let notScanning = BusReply.error(name: "org.bluez.Error.Failed", message: "No discovery started")
    static let alreadyExists = BusReply.error(name: "org.bluez.Error.AlreadyExists", message: "Already Exists")
    static let doesNotExist = BusReply.error(name: "org.bluez.Error.DoesNotExist", message: "Does Not Exist")
    static let noFreeSlot = BusReply.error(
        name: "org.bluez.Error.NotPermitted",
        message: "Maximum advertisements reached"
    )
    static let tooLong = BusReply.error(
        name: "org.bluez.Error.NotPermitted",
        message: "Advertising data too long or couldn't be generated."
    )
    static let unreadableAdvert = BusReply.error(
        name: "org.bluez.Error.Failed",
        message: "Failed to parse advertisement."
    )
    static let invalidArguments = BusReply.error(
        name: "org.bluez.Error.InvalidArguments",
        message: "Invalid arguments in method call"
    )
    static let notServed = BusReply.error(
        name: "org.freedesktop.DBus.Error.ServiceUnknown",
        message: "The name org.bluez was not provided by any .service files"
    )

    static func invalidArgs(_ message: String) -> BusReply {
        .error(name: "org.freedesktop.DBus.Error.InvalidArgs", message: message)
    }
}
