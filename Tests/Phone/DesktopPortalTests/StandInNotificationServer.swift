// SPDX-License-Identifier: Apache-2.0

import HybridDBus
import HybridVirtualBlueZ
import Synchronization
import TestSupport
import Testing

@testable import HybridDesktopPortal

/// A scripted notification server on a private session bus.
final class StandInNotificationServer: Sendable {
    /// The reaction to a notification.
    enum Behavior: Sendable {
        /// The user chooses the action with this position, before the call returns if `early`.
        case choose(Int, early: Bool = false)
        /// The notification is closed with this reason.
        case close(UInt32)
        /// The notification is closed with a reason before the user's choice of an action is reported, as by awesome.
        case closeBeforeChoice(UInt32, Int)
        /// The user ignores the notification.
        case wait
        /// The server shows no actions.
        case lacksActions
        /// The server replies with an error.
        case refuse
        /// Another program on the bus agrees, this many times, before the user declines.
        case impostor(count: Int)
    }

    private static let number: UInt32 = 7

    let connection: BusConnection
    private let notified = Mutex<[BusValue]?>(nil)
    private let closed = Mutex(false)

    /// The arguments of the notification; `nil` if there was none.
    var notification: [BusValue]? { notified.withLock { $0 } }

    /// True if the program closed the notification.
    var wasClosed: Bool { closed.withLock { $0 } }

    private init(_ connection: BusConnection) { self.connection = connection }

    /// Runs `body` with a private session bus and, unless `behavior` is `nil`, a notification server on it.
    static func serve(
        _ behavior: Behavior?,
        _ body: @Sendable (BusAddress, StandInNotificationServer?) async throws -> Void
    ) async throws {
        try await PrivateBus.run { bus in
            guard let behavior else { return try await body(bus.busAddress, nil) }
            let (messages, sink) = AsyncStream.makeStream(of: BusMessage.self)
            let connection = try await BusConnection.connect(to: bus.busAddress) { message in
                sink.yield(message)
                return .later
            }
            _ = try await connection.requestName(DesktopNotification.name)
            let server = StandInNotificationServer(connection)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for await message in messages { await server.handle(message, behavior, on: bus) } }
                defer { group.cancelAll() }
                try await body(bus.busAddress, server)
            }
            await connection.close()
        }
    }

    private func handle(_ message: BusMessage, _ behavior: Behavior, on bus: PrivateBus) async {
        guard message.interface == DesktopNotification.name, message.path == DesktopNotification.path else {
            return connection.reply(to: message, with: .unknownMethod)
        }
        switch message.member {
        case "GetCapabilities":
            var names = ["body"]
            if case .lacksActions = behavior {} else { names.append("actions") }
            connection.reply(to: message, with: .values([.strings(names)]))
        case "CloseNotification":
            closed.withLock { $0 = message.body == [.uint32(Self.number)] }
        case "Notify": await notify(message, behavior, on: bus)
        default: connection.reply(to: message, with: .unknownMethod)
        }
    }

    private func notify(_ message: BusMessage, _ behavior: Behavior, on bus: PrivateBus) async {
        notified.withLock { $0 = message.body }
        func emit(_ member: String, _ value: BusValue, number: UInt32? = nil) {
            let body = [.uint32(number ?? Self.number), value]
            connection.emit(DesktopNotification.path, DesktopNotification.name, member, body)
        }
        func accept() { connection.reply(to: message, with: .values([.uint32(Self.number)])) }
        // Keys and labels alternate.
        guard message.body.count == 8, case .array(_, let actions) = message.body[5] else {
            return connection.reply(to: message, with: .unknownMethod)
        }
        switch behavior {
        case .choose(let position, let early):
            if !early { accept() }
            // Signals about another notification, and a click on the text.
            emit("ActionInvoked", actions[0], number: Self.number + 1)
            emit("ActionInvoked", .string("default"))
            emit("ActionInvoked", actions[2 * position])
            emit("NotificationClosed", .uint32(2))
            if early { accept() }
        case .closeBeforeChoice(let reason, let position):
            accept()
            emit("NotificationClosed", .uint32(reason))
            emit("NotificationClosed", .uint32(reason))
            emit("ActionInvoked", actions[2 * position])
        case .close(let reason):
            accept()
            emit("NotificationClosed", .uint32(reason))
        case .refuse: connection.reply(to: message, with: .error(name: "org.example.Broken", message: ""))
        case .impostor(let count):
            accept()
            // The bus filters broadcasts by their sender, but not signals to one connection.
            let signal =
                "dbus-send --bus='\(bus.address)' --type=signal --dest=\(message.sender) \(DesktopNotification.path) "
                + "\(DesktopNotification.name).ActionInvoked uint32:\(Self.number) 'string:\(actions[0].text ?? "")'"
            let flood = "for i in $(seq \(count)); do \(signal) || exit 1; done"
            let status = try? await SpawnedProcess(["/bin/sh", "-c", flood]).end()
            #expect(status == 0)
            // Once the bus has answered later calls, it has delivered the impostor's signals.
            for _ in 0..<2 { _ = try? await connection.owner(of: DesktopNotification.name) }
            emit("ActionInvoked", actions[2])
        case .wait, .lacksActions: accept()
        }
    }
}
