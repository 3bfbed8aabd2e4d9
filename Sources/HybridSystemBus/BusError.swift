// SPDX-License-Identifier: Apache-2.0

/// Why a call over the bus, or the bus itself, failed.
public enum BusError: Error, Hashable, Sendable {
    /// Nothing answers as a bus at the address.
    case notReachable(address: String)
    /// The other side, or the bus in its place, answered with a D-Bus error.
    case refused(name: String, message: String)
    /// No answer came in time.
    case timedOut
    /// The connection to the bus has ended.
    case disconnected
    /// The calling task was cancelled before an answer came.
    case cancelled
    /// The values do not make a message, or the message that came exceeds the bounds of `BusLimits`.
    case malformed(String)
}
