// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

extension RadioError {
    /// Creates a radio error from a bus error or an error reply of bluetoothd.
    ///
    /// Source: BlueZ's doc/org.bluez.Adapter and doc/org.bluez.LEAdvertisingManager, and its `src/error.c`.
    ///
    /// - Parameters:
    ///   - error: The error of the call.
    ///   - adapter: The adapter that was called, if one has been chosen.
    init(_ error: BusError, adapter: AdapterName? = nil) {
        // If an adapter was chosen, bluetoothd has answered before, so it has now disappeared.
        let missing: RadioError = adapter == nil ? .noBluetoothService : .bluetoothServiceGone
        switch error {
        case .notReachable: self = .noSystemBus
        case .disconnected: self = adapter == nil ? .noSystemBus : .bluetoothServiceGone
        case .timedOut: self = .timedOut
        case .cancelled: self = .interrupted
        case .refused(let name, let message): self = Self.refusal(name, Self.clause(message), adapter) ?? missing
        case .malformed(let reason): self = .failed(reason)
        }
    }

    /// True if the error contains only bluetoothd's message and no specific cause.
    var isUnspecific: Bool { code == Self.failed("").code }

    /// Returns the radio error for a D-Bus error; `nil` if bluetoothd is not running.
    private static func refusal(_ name: String, _ message: String, _ adapter: AdapterName?) -> RadioError? {
        switch (name, adapter) {
        case ("org.freedesktop.DBus.Error.AccessDenied", _),
            ("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", _),
            ("org.bluez.Error.NotAuthorized", _):
            return .notPermitted(message)
        case ("org.freedesktop.DBus.Error.ServiceUnknown", _),
            ("org.freedesktop.DBus.Error.NameHasNoOwner", _),
            ("org.freedesktop.DBus.Error.NoReply", _),
            ("org.freedesktop.DBus.Error.Disconnected", _):
            return nil
        case ("org.bluez.Error.NotReady", .some(let adapter)), ("org.bluez.Error.Blocked", .some(let adapter)):
            return .adapterOff(adapter)
        case ("org.bluez.Error.InProgress", .some): return .busy(sanitized(name) + ": " + message)
        case ("org.bluez.Error.NotPermitted", .some(let adapter)) where message.hasPrefix("Maximum"):
            return .noFreeAdvertisingSlot(adapter)
        case ("org.freedesktop.DBus.Error.UnknownObject", .some(let adapter)):
            return .adapterNotFound(adapter)
        default:
            // The bus replies with one of these if it failed to start bluetoothd.
            let failedStarts = ["org.freedesktop.DBus.Error.Spawn.", "org.freedesktop.systemd1."]
            if failedStarts.contains(where: name.hasPrefix) { return nil }
            return .failed(sanitized(name) + ": " + message)
        }
    }

    /// Returns the part of a message before its first semicolon.
    ///
    /// In dbus-daemon's rejections, a long description of sender, rules and receiver follows the semicolon. In our
    /// sentences, the remedy follows it.
    private static func clause(_ message: String) -> String {
        sanitized(String(message.prefix { $0 != ";" }))
    }

    /// Returns text from the bus in a form that is safe for one line on a terminal.
    private static func sanitized(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(200).map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: Unicode.Scalar(UInt8(ascii: " "))
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
