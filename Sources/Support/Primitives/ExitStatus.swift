// SPDX-License-Identifier: Apache-2.0

/// Exit codes of the programs, with the meanings from BSD's `sysexits.h` where it defines them.
///
/// Users' scripts rely on these codes, so codes may be added but never changed.
public enum ExitStatus: Int32, Hashable, Sendable, CaseIterable {
    /// The command succeeded.
    case done = 0
    /// The command line is malformed or incomplete.
    case usage = 64
    /// External data is malformed or unacceptable: a QR code, a request, a frame, or a rolled-back vault.
    case dataError = 65
    /// A file or vault is missing or unreadable.
    case noInput = 66
    /// A service or resource is unavailable: D-Bus, Bluetooth, DNS, relay, trusted certificate, or address to listen
    /// on.
    case unavailable = 69
    /// An internal error.
    case software = 70
    /// The vault cannot be written.
    case ioError = 74
    /// The operation timed out, or the other end disconnected; a retry may help.
    case temporary = 75
    /// The user declined, the PIN is wrong, the passkey does not exist, or the vault is locked.
    case notPermitted = 77
    /// The configuration is invalid.
    case configuration = 78
    /// The command was interrupted by a signal.
    case interrupted = 130

    /// The machine-readable name of the status, used if the cause has no code of its own.
    public var name: String {
        switch self {
        case .done: "done"
        case .usage: "usage"
        case .dataError: "bad-data"
        case .noInput: "no-input"
        case .unavailable: "unavailable"
        case .software: "internal-fault"
        case .ioError: "not-written"
        case .temporary: "temporary"
        case .notPermitted: "not-permitted"
        case .configuration: "configuration"
        case .interrupted: "interrupted"
        }
    }
}
