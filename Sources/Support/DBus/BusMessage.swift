// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd

/// A received method call or signal.
package struct BusMessage: Sendable {
    /// The kind of a message.
    package enum Kind: Sendable {
        /// A method call, which the handler given to `BusConnection.connect` answers.
        case methodCall
        /// A signal.
        case signal
    }

    /// The message type: method call or signal.
    package let kind: Kind
    /// The sender's unique name, which the bus guarantees.
    package let sender: String
    /// The object that is called, or that emits the signal.
    package let path: String
    /// The interface; empty if the caller omitted it.
    package let interface: String
    /// The name of the method or signal.
    package let member: String
    /// The arguments.
    package let body: [BusValue]

    /// The number by which a deferred reply identifies its call; 0 for a signal.
    let replyToken: UInt64

    /// Creates a message from an sd-bus message, without taking ownership of it.
    init(
        _ message: OpaquePointer,
        kind: Kind,
        replyToken: UInt64 = 0,
        _ selection: BusSelection = .everything
    ) throws(BusError) {
        self.kind = kind
        self.replyToken = replyToken
        sender = Self.text(sd_bus_message_get_sender(message))
        path = Self.text(sd_bus_message_get_path(message))
        interface = Self.text(sd_bus_message_get_interface(message))
        member = Self.text(sd_bus_message_get_member(message))
        body = try MessageReader.body(of: message, selection)
    }

    static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        pointer.map { String(cString: $0) } ?? ""
    }

    /// Returns true if this is the signal `interface.member`.
    package func isSignal(_ interface: String, _ member: String) -> Bool {
        kind == .signal && self.interface == interface && self.member == member
    }
}

/// A reply to a method call.
package enum BusReply: Sendable {
    /// Success, with the returned values.
    case values([BusValue])
    /// A D-Bus error with its name and message.
    case error(name: String, message: String)
    /// The reply will be sent later with `BusConnection.reply(to:with:)`.
    case later

    /// The called object does not exist.
    package static let unknownObject = BusReply.error(
        name: "org.freedesktop.DBus.Error.UnknownObject",
        message: "No such object."
    )
    /// The object has no such method.
    package static let unknownMethod = BusReply.error(
        name: "org.freedesktop.DBus.Error.UnknownMethod",
        message: "No such method."
    )
}
