// SPDX-License-Identifier: Apache-2.0

import HybridDBus
import HybridVirtualBlueZ
import Synchronization
import TestSupport

@testable import HybridDesktopPortal

/// A scripted portal on a private session bus.
final class StandInPortal: Sendable {
    /// The reaction to a request.
    enum Behavior: Sendable {
        /// Sends a response with this number and these results, before the call returns if `early`.
        case answers(UInt32, [String: BusValue], early: Bool = false)
        /// Replies with an error.
        case refuses(String)
        /// Shows a window that the user ignores.
        case waits
        /// Uses another request path, as portals before 2017 did.
        case isOld
        /// Sends its response after many of another program on the bus.
        case isPreceded([String: BusValue])
    }

    let connection: BusConnection
    private let asked = Mutex(false)
    private let closed = Mutex(false)

    /// True if a screenshot was requested.
    var wasAsked: Bool { asked.withLock { $0 } }

    /// True if the window was closed.
    var wasClosed: Bool { closed.withLock { $0 } }

    private init(_ connection: BusConnection) { self.connection = connection }

    /// Runs `body` with a private session bus and, unless `behavior` is `nil`, a portal on it.
    static func serve(
        _ behavior: Behavior?,
        _ body: @Sendable (BusAddress, StandInPortal?) async throws -> Void
    ) async throws {
        try await PrivateBus.run { bus in
            if let behavior {
                try await serve(behavior, on: bus.busAddress, body)
            } else {
                try await body(bus.busAddress, nil)
            }
        }
    }

    private static func serve(
        _ behavior: Behavior,
        on address: BusAddress,
        _ body: @Sendable (BusAddress, StandInPortal?) async throws -> Void
    ) async throws {
        let (messages, sink) = AsyncStream.makeStream(of: BusMessage.self)
        let connection = try await BusConnection.connect(to: address) { message in
            sink.yield(message)
            return .later
        }
        _ = try await connection.requestName(ScreenshotPortal.name)
        let impostor = try await BusConnection.connect(to: address)
        let portal = StandInPortal(connection)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await message in messages { await portal.handle(message, behavior, impostor) } }
            defer { group.cancelAll() }
            try await body(address, portal)
        }
        await impostor.close()
        await connection.close()
    }

    private func handle(_ message: BusMessage, _ behavior: Behavior, _ impostor: BusConnection) async {
        if message.interface == ScreenshotPortal.requestInterface, message.member == "Close" {
            closed.withLock { $0 = true }
            return
        }
        guard message.interface == ScreenshotPortal.interface, message.member == "Screenshot",
            message.path == ScreenshotPortal.path, message.body.count == 2, message.body[0].text == "",
            let options = message.body[1].fields, let token = options["handle_token"]?.text,
            options["interactive"]?.flag == false
        else { return connection.reply(to: message, with: .unknownMethod) }
        asked.withLock { $0 = true }
        let request = ScreenshotPortal.requestPath(of: message.sender, token)
        func respond(_ number: UInt32, _ results: [String: BusValue], _ connection: BusConnection) {
            let body: [BusValue] = [.uint32(number), .properties(results)]
            connection.emit(request, ScreenshotPortal.requestInterface, "Response", body)
        }
        switch behavior {
        case .refuses(let name): connection.reply(to: message, with: .error(name: name, message: ""))
        case .isOld: connection.reply(to: message, with: .values([.objectPath(request + "0")]))
        case .waits: connection.reply(to: message, with: .values([.objectPath(request)]))
        case .answers(let number, let results, let early):
            if early { respond(number, results, connection) }
            connection.reply(to: message, with: .values([.objectPath(request)]))
            if !early { respond(number, results, connection) }
        case .isPreceded(let results):
            connection.reply(to: message, with: .values([.objectPath(request)]))
            // More than wait for the program.
            for _ in 0..<100 { respond(1, [:], impostor) }
            // Once the bus has answered a later call, it has handled the impostor's signal.
            _ = try? await impostor.owner(of: ScreenshotPortal.name)
            respond(0, results, connection)
        }
    }
}
