// SPDX-License-Identifier: Apache-2.0

/// The reason why a call over the bus, or the bus itself, failed.
public struct BusError: Error, Hashable, Sendable {
    /// The kind of failure.
    public struct Kind: Hashable, Sendable {
        private let name: String

        /// No bus answers at the address.
        public static let notReachable = Kind(name: "not reachable")
        /// The peer, or the bus in its place, replied with a D-Bus error.
        public static let refused = Kind(name: "refused")
        /// No reply came in time.
        public static let timedOut = Kind(name: "timed out")
        /// The connection to the bus has ended.
        public static let disconnected = Kind(name: "disconnected")
        /// The calling task was cancelled before a reply came.
        public static let cancelled = Kind(name: "cancelled")
        /// The values do not make a message, or a received message exceeds `BusLimits`.
        public static let malformed = Kind(name: "malformed")
    }

    /// The kind of failure.
    public let kind: Kind
    /// The name of the D-Bus error; empty unless `kind` is `refused`.
    public let name: String
    /// The message of the D-Bus error, the address that is not reachable, or what is malformed.
    public let message: String

    private init(_ kind: Kind, name: String = "", message: String = "") {
        (self.kind, self.name, self.message) = (kind, name, message)
    }

    /// No bus answers at the address.
    public static func notReachable(address: String) -> BusError { BusError(.notReachable, message: address) }

    /// The peer, or the bus in its place, replied with a D-Bus error.
    public static func refused(name: String, message: String) -> BusError {
        BusError(.refused, name: name, message: message)
    }

    /// No reply came in time.
    public static let timedOut = BusError(.timedOut)

    /// The connection to the bus has ended.
    public static let disconnected = BusError(.disconnected)

    /// The calling task was cancelled before a reply came.
    public static let cancelled = BusError(.cancelled)

    /// The values do not make a message, or a received message exceeds `BusLimits`.
    public static func malformed(_ reason: String) -> BusError { BusError(.malformed, message: reason) }
}
