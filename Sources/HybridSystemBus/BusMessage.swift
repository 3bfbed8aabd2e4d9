// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd

/// A method call or a signal as it came in.
public struct BusMessage: Sendable {
    /// What came.
    public enum Kind: Sendable {
        /// A method call; it is answered by the handler given to `BusConnection.connect`.
        case methodCall
        /// A signal.
        case signal
    }

    /// Names a call while its answer is outstanding.
    struct Ticket: Hashable, Sendable {
        let number: UInt64
    }

    /// Method call or signal.
    public let kind: Kind
    /// Unique name of who sent it; the bus vouches for it.
    public let sender: String
    /// The object it is for, or from.
    public let path: String
    /// The interface; empty where a caller left it out.
    public let interface: String
    /// Name of the method or signal.
    public let member: String
    /// The arguments.
    public let body: [BusValue]

    let ticket: Ticket

    /// Reads `message`, which stays the caller's.
    init(
        _ message: OpaquePointer,
        kind: Kind,
        ticket: Ticket,
        _ selection: BusSelection = .everything
    ) throws(BusError) {
        self.kind = kind
        self.ticket = ticket
        sender = Self.text(sd_bus_message_get_sender(message))
        path = Self.text(sd_bus_message_get_path(message))
        interface = Self.text(sd_bus_message_get_interface(message))
        member = Self.text(sd_bus_message_get_member(message))
        body = try MessageReader.body(of: message, selection)
    }

    static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        pointer.map { String(cString: $0) } ?? ""
    }

    /// Whether this is the signal `interface.member`.
    public func isSignal(_ interface: String, _ member: String) -> Bool {
        kind == .signal && self.interface == interface && self.member == member
    }
}

/// An answer to a method call.
public enum BusReply: Sendable {
    /// Success, with the values returned.
    case values([BusValue])
    /// A D-Bus error with its name and a sentence.
    case error(name: String, message: String)
    /// `BusConnection.reply(to:with:)` answers in a while.
    case later

    /// There is no such object here.
    public static let unknownObject = BusReply.error(
        name: "org.freedesktop.DBus.Error.UnknownObject",
        message: "No such object."
    )
    /// The object has no such method.
    public static let unknownMethod = BusReply.error(
        name: "org.freedesktop.DBus.Error.UnknownMethod",
        message: "No such method."
    )
}
