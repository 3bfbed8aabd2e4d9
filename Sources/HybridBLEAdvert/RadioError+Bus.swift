// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

extension RadioError {
    /// What an error of the bus, or an answer of bluetoothd, means for the radio.
    ///
    /// Source: BlueZ's doc/org.bluez.Adapter and doc/org.bluez.LEAdvertisingManager, and its `src/error.c`.
    ///
    /// - Parameters:
    ///   - error: what the call threw.
    ///   - adapter: the adapter that was called, once there is one.
    init(_ error: BusError, adapter: AdapterName? = nil) {
        // With an adapter, bluetoothd had answered before: if it is missing now, it has gone.
        let missing: RadioError = adapter == nil ? .noBluetoothService : .bluetoothServiceGone
        switch error {
        case .notReachable: self = .noSystemBus
        case .disconnected: self = adapter == nil ? .noSystemBus : .bluetoothServiceGone
        case .timedOut: self = .timedOut
        case .cancelled: self = .interrupted
        case .malformed(let words): self = .failed(words)
        case .refused(let name, let message):
            self = Self.refusal(name, Self.clause(message), adapter) ?? missing
        }
    }

    /// The meaning of a D-Bus error; `nil` where nobody was there to answer.
    private static func refusal(_ name: String, _ words: String, _ adapter: AdapterName?) -> RadioError? {
        switch (name, adapter) {
        case ("org.freedesktop.DBus.Error.AccessDenied", _),
            ("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", _),
            ("org.bluez.Error.NotAuthorized", _):
            return .notPermitted(words)
        case ("org.freedesktop.DBus.Error.ServiceUnknown", _),
            ("org.freedesktop.DBus.Error.NameHasNoOwner", _),
            ("org.freedesktop.DBus.Error.NoReply", _),
            ("org.freedesktop.DBus.Error.Disconnected", _):
            return nil
        case ("org.bluez.Error.NotReady", .some(let adapter)), ("org.bluez.Error.Blocked", .some(let adapter)):
            return .adapterOff(adapter)
        case ("org.bluez.Error.NotPermitted", .some(let adapter)) where words.hasPrefix("Maximum"):
            return .noFreeAdvertisingSlot(adapter)
        case ("org.freedesktop.DBus.Error.UnknownObject", .some(let adapter)):
            return .adapterNotFound(adapter)
        default:
            // What a bus says whose attempt to start bluetoothd failed.
            let failedStarts = ["org.freedesktop.DBus.Error.Spawn.", "org.freedesktop.systemd1."]
            if failedStarts.contains(where: name.hasPrefix) { return nil }
            return .failed(harmless(name) + ": " + words)
        }
    }

    /// What a message says before its first semicolon, behind which a sentence of ours has the remedy.
    ///
    /// dbus-daemon, when it refuses, goes on there with sender, rules and receiver at length.
    private static func clause(_ message: String) -> String {
        harmless(String(message.prefix { $0 != ";" }))
    }

    /// Text from the bus made fit for one line on a terminal.
    private static func harmless(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(200).map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: Unicode.Scalar(UInt8(ascii: " "))
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
