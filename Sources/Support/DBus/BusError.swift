// SPDX-License-Identifier: Apache-2.0

/// The reason why a call or a connection to the bus failed.
package enum BusError: Error, Hashable, Sendable {
    /// No bus answers at the address.
    case notReachable(address: String)
    /// The peer, or the bus daemon on its behalf, replied with a D-Bus error.
    case refused(name: String, message: String)
    /// No reply was received in time.
    case timedOut
    /// The connection to the bus has ended.
    case disconnected
    /// The calling task was canceled before a reply was received.
    case cancelled
    /// The values cannot be sent as a message, or a received message is malformed or exceeds `BusLimits`.
    case malformed(String)

    /// The name of the D-Bus error, if the peer replied with one.
    package var name: String? {
        if case .refused(let name, _) = self { name } else { nil }
    }
}
