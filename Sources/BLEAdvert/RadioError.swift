// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// The reason why Bluetooth cannot be used.
public struct RadioError: ExplainedFailure, Hashable {
    /// The stable code of the failure.
    public let code: String
    /// The cause and the remedy in one line.
    public let sentence: String
    /// The exit status of a command that ends with this failure.
    public let status: ExitStatus
    /// True if the cause may disappear by itself or by an action of the user.
    ///
    /// Examples are Bluetooth that is switched off, an unplugged adapter or a service that restarts.
    public let isTemporary: Bool

    private init(_ code: String, _ sentence: String, status: ExitStatus = .unavailable, isTemporary: Bool = false) {
        self.code = code
        self.sentence = sentence
        self.status = status
        self.isTemporary = isTemporary
    }

    /// No system bus answers.
    public static let noSystemBus = RadioError(
        "no-system-bus",
        "the D-Bus system bus does not respond; start it (systemctl start dbus) or check DBUS_SYSTEM_BUS_ADDRESS"
    )

    /// bluetoothd is not on the bus.
    public static let noBluetoothService = RadioError(
        "no-bluetooth-service",
        "the Bluetooth service is not running; install bluez and start it: systemctl start bluetooth",
        isTemporary: true
    )

    /// bluetoothd has no adapter.
    public static let noAdapter = RadioError(
        "no-adapter",
        "no Bluetooth adapter was found; plug one in, or check it with: bluetoothctl list",
        isTemporary: true
    )

    /// No adapter has this name.
    public static func adapterNotFound(_ adapter: AdapterName) -> RadioError {
        RadioError(
            "adapter-not-found",
            "there is no Bluetooth adapter \(adapter); see ls /sys/class/bluetooth for the available adapters",
            isTemporary: true
        )
    }

    /// The adapter is switched off or blocked.
    public static func adapterOff(_ adapter: AdapterName) -> RadioError {
        RadioError(
            "adapter-off",
            "Bluetooth is off (\(adapter)); switch it on: rfkill unblock bluetooth, then bluetoothctl power on",
            isTemporary: true
        )
    }

    /// The adapter knows Bluetooth Classic only.
    public static func noLowEnergy(_ adapter: AdapterName) -> RadioError {
        RadioError(
            "no-low-energy",
            "\(adapter) has no Bluetooth Low Energy; plug in an adapter with Bluetooth 4.0 or newer, or see docs/bluetooth.md",
            isTemporary: true
        )
    }

    /// The bus or bluetoothd rejects this user, with this message.
    public static func notPermitted(_ message: String) -> RadioError {
        RadioError(
            "bluetooth-not-permitted",
            "this user is not permitted to use Bluetooth (\(message)); the D-Bus policy forbids it, see "
                + "docs/bluetooth.md"
        )
    }

    /// Other programs use all advertising slots of the adapter.
    public static func noFreeAdvertisingSlot(_ adapter: AdapterName) -> RadioError {
        RadioError(
            "no-advertising-slot",
            "other programs use every advertising slot of \(adapter); stop one of them, or use a different adapter "
                + "with --adapter"
        )
    }

    /// bluetoothd disappeared while it was in use.
    public static let bluetoothServiceGone = RadioError(
        "bluetooth-service-gone",
        "the Bluetooth service stopped; see journalctl -u bluetooth, and try again",
        isTemporary: true
    )

    /// bluetoothd refuses an operation for now, with this message.
    ///
    /// For example, it ends a discovery that has failed, or the adapter is being turned on.
    public static func busy(_ message: String) -> RadioError {
        RadioError(
            "bluetooth-busy",
            "the Bluetooth service is busy (\(message)); if this persists, restart it: systemctl restart bluetooth",
            status: .temporary,
            isTemporary: true
        )
    }

    /// True if bluetoothd refuses an operation for now.
    package var isBusy: Bool { code == Self.busy("").code }

    /// bluetoothd did not answer in time.
    public static let timedOut = RadioError(
        "bluetooth-timed-out",
        "the Bluetooth service did not answer in time; restart it: systemctl restart bluetooth",
        status: .temporary,
        isTemporary: true
    )

    /// This program canceled its own request, so the state of the radio is unknown.
    public static let interrupted = RadioError(
        "bluetooth-interrupted",
        "Bluetooth was interrupted before it had answered; try again",
        status: .temporary
    )

    /// Any other failure, with bluetoothd's message.
    public static func failed(_ message: String) -> RadioError {
        RadioError("bluetooth-failed", "Bluetooth failed (\(message)); see journalctl -u bluetooth")
    }
}
