// SPDX-License-Identifier: Apache-2.0

/// Exit codes of the programs, with the meanings of BSD's `sysexits.h` where it has one.
///
/// Scripts of other people rely on them: add codes, never change one.
public enum ExitStatus: Int32, Hashable, Sendable, CaseIterable {
    /// Done.
    case done = 0
    /// The command line is malformed or incomplete.
    case usage = 64
    /// Data from outside is malformed: a QR code, a request, a frame, a rolled-back vault.
    case dataError = 65
    /// A file or vault is missing or unreadable.
    case noInput = 66
    /// A service is unavailable: bus, Bluetooth, DNS, relay, a trusted certificate, a free address to listen on.
    case unavailable = 69
    /// An internal error.
    case software = 70
    /// The vault cannot be written.
    case ioError = 74
    /// Timed out, or the other end disappeared; a retry may help.
    case temporary = 75
    /// Declined, wrong PIN, no such passkey, or the vault is locked.
    case notPermitted = 77
    /// The configuration is wrong.
    case configuration = 78
    /// Interrupted by a signal.
    case interrupted = 130

    /// Machine-readable name of the status, used if the cause has none.
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
