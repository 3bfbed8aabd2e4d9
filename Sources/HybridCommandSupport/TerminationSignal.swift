// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A signal that asks a program to end.
public enum TerminationSignal: Hashable, Sendable, CaseIterable {
    /// Ctrl-C at a terminal.
    case interrupt
    /// From a service manager.
    case terminate
    /// The terminal went away.
    case hangup

    /// The system's number.
    public var number: Int32 {
        switch self {
        case .interrupt: SIGINT
        case .terminate: SIGTERM
        case .hangup: SIGHUP
        }
    }
}
