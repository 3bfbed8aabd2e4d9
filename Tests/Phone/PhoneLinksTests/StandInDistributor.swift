// SPDX-License-Identifier: Apache-2.0

import HybridDBus
import HybridThreads
import HybridVirtualBlueZ
import TestSupport

@testable import HybridPhoneLinks

/// A scripted UnifiedPush distributor on a private session bus.
final class StandInDistributor: Sendable {
    static let name = UnifiedPush.distributorPrefix + "Test"

    /// The state of the distributor.
    struct State: Sendable {
        /// The registrations, with their arguments, by token.
        var registered: [String: [String: BusValue]] = [:]
        /// The tokens that were unregistered.
        var unregistered: [String] = []
        /// The reason for which registrations fail; `nil` if they succeed.
        var refusal: String?
        /// The address of the next registration.
        var endpoint = "https://push.example/1"
        /// The number of registrations.
        var calls = 0
    }

    let connection: BusConnection
    let state = Locked(State())

    private init(_ connection: BusConnection) { self.connection = connection }

    /// Runs `body` with a distributor on a bus.
    static func serve(
        on bus: PrivateBus,
        name: String = StandInDistributor.name,
        _ body: @Sendable (StandInDistributor) async throws -> Void
    ) async throws {
        let (messages, sink) = AsyncStream.makeStream(of: BusMessage.self)
        let connection = try await BusConnection.connect(to: bus.busAddress) { message in
            sink.yield(message)
            return .later
        }
        _ = try await connection.requestName(name)
        let distributor = StandInDistributor(connection)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await message in messages { distributor.answer(message) } }
            defer { group.cancelAll() }
            try await body(distributor)
        }
        await connection.close()
    }

    private func answer(_ message: BusMessage) {
        guard message.interface == UnifiedPush.distributor, message.path == UnifiedPush.distributorPath,
            let fields = message.body.first?.fields, let token = fields["token"]?.text
        else { return connection.reply(to: message, with: .unknownMethod) }
        guard message.member == "Register" else {
            state.withLock {
                $0.unregistered.append(token)
                $0.registered[token] = nil
            }
            return connection.reply(to: message, with: .values([.properties([:])]))
        }
        let (refusal, endpoint) = state.withLock { state in
            state.calls += 1
            if state.refusal == nil { state.registered[token] = fields }
            return (state.refusal, state.endpoint)
        }
        if let refusal {
            let reply: [String: BusValue] = ["success": .string("REGISTRATION_FAILED"), "reason": .string(refusal)]
            return connection.reply(to: message, with: .values([.properties(reply)]))
        }
        // Some distributors name the address before they reply.
        call("NewEndpoint", ["token": .string(token), "endpoint": .string(endpoint)])
        connection.reply(
            to: message,
            with: .values([.properties(["success": .string("REGISTRATION_SUCCEEDED"), "reason": .string("")])])
        )
    }

    /// Calls the program's object without waiting for a reply.
    func call(_ member: String, _ fields: [String: BusValue]) {
        connection.send(
            UnifiedPush.service,
            UnifiedPush.connectorPath,
            UnifiedPush.connector,
            member,
            [.properties(fields)]
        )
    }

    /// Delivers a push message.
    func deliver(_ bytes: [UInt8], token: String) {
        call("Message", ["token": .string(token), "message": .bytes(bytes)])
    }
}
