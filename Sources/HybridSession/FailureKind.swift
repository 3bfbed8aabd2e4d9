// SPDX-License-Identifier: Apache-2.0

/// What sort of failure ended a ceremony; the number is the exit status by BSD's `sysexits.h`.
public enum FailureKind: Int32, Sendable {
    /// What the other side or the user gave can't be right.
    case badData = 65
    /// A file is missing or unreadable.
    case noInput = 66
    /// Bluetooth, the network or the relay can't be used now.
    case unavailable = 69
    /// A fault of this program.
    case fault = 70
    /// It took too long, or the other side went away; trying again may help.
    case temporary = 75
    /// Somebody said no.
    case refused = 77
    /// A variable of the environment is wrong.
    case configuration = 78
}

/// A failure that a person can be told: one sentence with cause and remedy, and its sort.
public protocol ExplainedFailure: Error {
    /// The cause for programs: lower-case words with hyphens between them; it never changes.
    var code: String { get }
    /// Cause and remedy in one line, without a full stop; the remedy stands behind the first semicolon.
    var sentence: String { get }
    /// What sort of failure it is.
    var kind: FailureKind { get }
}
