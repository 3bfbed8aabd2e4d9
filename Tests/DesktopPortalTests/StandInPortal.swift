// SPDX-License-Identifier: Apache-2.0

import HybridSystemBus
import HybridVirtualBlueZ
import Synchronization
import TestSupport

@testable import HybridDesktopPortal

/// A portal of the tests' own, on a private session bus: it says what it is told to say, in the portal's words.
final class StandInPortal: Sendable {
    /// What it does when it is asked for a screenshot.
    enum Manner: Sendable {
        /// Answers with this number and these results, before the call itself returns if `early`.
        case answers(UInt32, [String: BusValue], early: Bool = false)
        /// Refuses the call.
        case refuses(String)
        /// Shows a window that nobody looks at.
        case waits
        /// As portals were before 2017: the request is elsewhere.
        case isOld
        /// Leaves the answering to a stranger on the bus, and then answers itself.
        case isForestalled([String: BusValue])
    }

    let connection: BusConnection
    private let asked = Mutex(false)
    private let closed = Mutex(false)

    /// Whether somebody wanted a screenshot.
    var wasAsked: Bool { asked.withLock { $0 } }

    /// Whether a window was taken down.
    var wasClosed: Bool { closed.withLock { $0 } }

    private init(_ connection: BusConnection) { self.connection = connection }

    /// Runs `body` with a private session bus and, unless `manner` is `nil`, a portal on it.
    static func serve(
        _ manner: Manner?,
        _ body: @Sendable (BusAddress, StandInPortal?) async throws -> Void
    ) async throws {
        let bus = try await PrivateBus.start()
        do {
            if let manner {
                try await serve(manner, on: bus.busAddress, body)
            } else {
                try await body(bus.busAddress, nil)
            }
        } catch {
            await bus.close()
            throw error
        }
        await bus.close()
    }

    private static func serve(
        _ manner: Manner,
        on address: BusAddress,
        _ body: @Sendable (BusAddress, StandInPortal?) async throws -> Void
    ) async throws {
        let (messages, sink) = AsyncStream.makeStream(of: BusMessage.self)
        let connection = try await BusConnection.connect(to: address) { message in
            sink.yield(message)
            return .later
        }
        _ = try await connection.requestName(ScreenshotPortal.name)
        let stranger = try await BusConnection.connect(to: address)
        let portal = StandInPortal(connection)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await message in messages { await portal.handle(message, manner, stranger) } }
            defer { group.cancelAll() }
            try await body(address, portal)
        }
        await stranger.close()
        await connection.close()
    }

    private func handle(_ message: BusMessage, _ manner: Manner, _ stranger: BusConnection) async {
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
        switch manner {
        case .refuses(let name): connection.reply(to: message, with: .error(name: name, message: ""))
        case .isOld: connection.reply(to: message, with: .values([.objectPath(request + "0")]))
        case .waits: connection.reply(to: message, with: .values([.objectPath(request)]))
        case .answers(let number, let results, let early):
            if early { respond(number, results, connection) }
            connection.reply(to: message, with: .values([.objectPath(request)]))
            if !early { respond(number, results, connection) }
        case .isForestalled(let results):
            connection.reply(to: message, with: .values([.objectPath(request)]))
            respond(1, [:], stranger)
            // The bus has the stranger's signal once it has answered a call that came after it.
            _ = try? await stranger.owner(of: ScreenshotPortal.name)
            respond(0, results, connection)
        }
    }
}
