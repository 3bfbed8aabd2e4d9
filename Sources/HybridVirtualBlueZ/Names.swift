// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

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
    static let batteryManager = "org.bluez.BatteryProviderManager1"
    static let simAccess = "org.bluez.SimAccess1"

    static func adapterPath(_ number: Int) -> String { "/org/bluez/hci\(number)" }
}

/// D-Bus errors in the words of bluetoothd 5.66 and 5.82, as recorded (Tests/Vectors/bluez).
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
    static let notRegistered = BusReply.error(
        name: "org.bluez.Error.Failed",
        message: "Failed to register advertisement"
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

    static func noInterface(_ name: String) -> BusReply {
        .error(name: "org.freedesktop.DBus.Error.InvalidArgs", message: "No such interface '\(name)'")
    }

    static func noProperty(_ name: String) -> BusReply {
        .error(name: "org.freedesktop.DBus.Error.InvalidArgs", message: "No such property '\(name)'")
    }

    static func noPropertyToSet(_ name: String) -> BusReply {
        .error(name: "org.freedesktop.DBus.Error.UnknownProperty", message: "No such property '\(name)'")
    }

    static func readOnly(_ name: String) -> BusReply {
        .error(
            name: "org.freedesktop.DBus.Error.PropertyReadOnly",
            message: "Property '\(name)' is not writable"
        )
    }

    static func wrongType(_ name: String) -> BusReply {
        .error(name: "org.freedesktop.DBus.Error.InvalidSignature", message: "Invalid signature for '\(name)'")
    }

    static func noObject(_ call: BusMessage) -> BusReply {
        .error(name: "org.freedesktop.DBus.Error.UnknownObject", message: MethodTable.refusal(call))
    }

    static func noMethod(_ call: BusMessage) -> BusReply {
        .error(name: "org.freedesktop.DBus.Error.UnknownMethod", message: MethodTable.refusal(call))
    }
}
