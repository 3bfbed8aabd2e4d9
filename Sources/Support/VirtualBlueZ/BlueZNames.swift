// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// The names of BlueZ's interfaces and objects.
///
/// `HybridBLEAdvert` has its own list. If one of the lists is wrong, they differ and a test fails.
enum BlueZNames {
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
    static let batteryManager = "org.bluez.BatteryProviderManager1"
    static let simAccess = "org.bluez.SimAccess1"

    static func adapterPath(_ number: Int) -> String { "/org/bluez/hci\(number)" }
}

/// Replies with the names and texts that were recorded from bluetoothd 5.66 and 5.82 (Tests/Vectors/bluez).
extension BusReply {
    static let done = BusReply.values([])
    static let notReady = bluez("NotReady", "Resource Not Ready")
    static let blocked = bluez("Blocked", "Blocked through rfkill")
    static let inProgress = bluez("InProgress", "Operation already in progress")
    static let notScanning = bluez("Failed", "No discovery started")
    static let alreadyExists = bluez("AlreadyExists", "Already Exists")
    static let doesNotExist = bluez("DoesNotExist", "Does Not Exist")
    static let noFreeSlot = bluez("NotPermitted", "Maximum advertisements reached")
    static let notRegistered = bluez("Failed", "Failed to register advertisement")
    static let unreadableAdvert = bluez("Failed", "Failed to parse advertisement.")
    static let notSupported = bluez("NotSupported", "Operation is not supported")
    static let invalidArguments = bluez("InvalidArguments", "Invalid arguments in method call")
    static let notServed = dbus("ServiceUnknown", "The name org.bluez was not provided by any .service files")

    static func noInterface(_ name: String) -> BusReply { dbus("InvalidArgs", "No such interface '\(name)'") }
    static func noProperty(_ name: String) -> BusReply { dbus("InvalidArgs", "No such property '\(name)'") }
    static func noPropertyToSet(_ name: String) -> BusReply { dbus("UnknownProperty", "No such property '\(name)'") }
    static func readOnly(_ name: String) -> BusReply { dbus("PropertyReadOnly", "Property '\(name)' is not writable") }
    static func wrongType(_ name: String) -> BusReply { dbus("InvalidSignature", "Invalid signature for '\(name)'") }
    static func noObject(_ call: BusMessage) -> BusReply { dbus("UnknownObject", missingMethodText(call)) }
    static func noMethod(_ call: BusMessage) -> BusReply { dbus("UnknownMethod", missingMethodText(call)) }

    private static func bluez(_ name: String, _ message: String) -> BusReply {
        .error(name: "org.bluez.Error." + name, message: message)
    }

    private static func dbus(_ name: String, _ message: String) -> BusReply {
        .error(name: "org.freedesktop.DBus.Error." + name, message: message)
    }

    private static func missingMethodText(_ call: BusMessage) -> String {
        "Method \"\(call.member)\" with signature \"\(call.signature)\" on interface \"\(call.interface)\" doesn't exist\n"
    }
}
