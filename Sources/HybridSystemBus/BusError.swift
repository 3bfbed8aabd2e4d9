// SPDX-License-Identifier: Apache-2.0

/// The reason why a call over the bus, or the bus itself, failed.
public enum BusError: Error, Hashable, Sendable {
    /// No bus answers at the address.
    case notReachable(address: String)
    /// The peer, or the bus in its place, replied with a D-Bus error.
    case refused(name: String, message: String)
    /// No reply came in time.
    case timedOut
    /// The connection to the bus has ended.
    case disconnected
    /// The calling task was cancelled before a reply came.
    case cancelled
    /// The values do not make a message, or a received message exceeds `BusLimits`.
    case malformed(String)

    /// The name of the D-Bus error, if the peer replied with one.
    public var name: String? {
        if case .refused(let name, _) = self { name } else { nil }
    }
}
