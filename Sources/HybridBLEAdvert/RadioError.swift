// SPDX-License-Identifier: Apache-2.0

/// Why the Bluetooth radio cannot be used, each cause apart.
public enum RadioError: Error, Equatable, Sendable {
    /// No system bus answers.
    case noSystemBus
    /// bluetoothd is not on the bus.
    case noBluetoothService
    /// bluetoothd knows no adapter.
    case noAdapter
    /// There is no adapter of this name.
    case adapterNotFound(AdapterName)
    /// The adapter is switched off or blocked.
    case adapterOff(AdapterName)
    /// The bus or bluetoothd refuses this user; with their words.
    case notPermitted(String)
    /// Other programs use all the adverts the adapter can send at one time.
    case noFreeAdvertisingSlot(AdapterName)
    /// bluetoothd went away while it was in use.
    case bluetoothServiceGone
    /// bluetoothd did not answer in time.
    case timedOut
    /// This program broke off what it had asked for; nothing is known of the radio.
    case interrupted
    /// Anything else; with bluetoothd's words.
    case failed(String)

    /// Whether it may pass by itself or by what the user does: Bluetooth was switched off, an adapter unplugged, the
    /// service restarted.
    public var mayPass: Bool {
        switch self {
        case .noBluetoothService, .noAdapter, .adapterNotFound, .adapterOff, .bluetoothServiceGone, .timedOut: true
        case .noSystemBus, .notPermitted, .noFreeAdvertisingSlot, .interrupted, .failed: false
        }
    }

    /// One line that says the cause and the remedy.
    public var sentence: String {
        switch self {
        case .noSystemBus:
            "no D-Bus system bus answers; start it (systemctl start dbus) or check DBUS_SYSTEM_BUS_ADDRESS"
        case .noBluetoothService:
            "the Bluetooth service is not running; install bluez and start it: systemctl start bluetooth"
        case .noAdapter:
            "no Bluetooth adapter was found; plug one in, or check it with: bluetoothctl list"
        case .adapterNotFound(let adapter):
            "there is no Bluetooth adapter \(adapter); see ls /sys/class/bluetooth for those there are"
        case .adapterOff(let adapter):
            "Bluetooth is off (\(adapter)); switch it on: rfkill unblock bluetooth, then bluetoothctl power on"
        case .notPermitted(let words):
            "this user may not use Bluetooth (\(words)); the D-Bus policy forbids it, see docs/bluetooth.md"
        case .noFreeAdvertisingSlot(let adapter):
            "other programs use every advertising slot of \(adapter); stop one of them, or name another adapter"
        case .bluetoothServiceGone:
            "the Bluetooth service stopped; see journalctl -u bluetooth, and try again"
        case .timedOut:
            "the Bluetooth service did not answer in time; restart it: systemctl restart bluetooth"
        case .interrupted: "Bluetooth was interrupted before it had answered; try again"
        case .failed(let words):
            "Bluetooth failed (\(words)); see journalctl -u bluetooth"
        }
    }
}
