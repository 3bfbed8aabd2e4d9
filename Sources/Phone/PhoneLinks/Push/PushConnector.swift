// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridDBus
internal import HybridPrimitives
internal import HybridThreads

/// This program's object on the session bus, which distributors call (UnifiedPush, DBUS_0.3.0, "Connector API").
///
/// Any program of the session can call it. Only calls of distributors with a registration are accepted, so that no other
/// program fills the places of those that wait. A call counts only if it has the token of a registration and comes from
/// the distributor of that registration; both are checked by ``PushService``.
struct PushConnector: Sendable {
    /// A call of a distributor.
    struct Call: Sendable {
        /// The contents of a call.
        enum Event: Sendable {
            /// A push message, which is still encrypted; 1 to 4,096 bytes.
            case message([UInt8])
            /// The address of a subscription; an `https` URL of at most 1,000 bytes.
            case endpoint(String)
            /// The end of a subscription.
            case unregistered
        }

        /// The distributors, by bus name, that the caller was when it called; never empty.
        let distributors: Set<String>
        /// The token in the call.
        let token: String
        /// The contents.
        let event: Event
    }

    /// Maximum number of calls that wait to be handled; more are dropped.
    private static let maximumCalls = 64
    /// Time for a distributor to reply, which may have to reach its server first.
    private static let timeout = Duration.seconds(30)
    private static let maximumTokenLength = 100
    private static let maximumEndpointLength = 1000

    private let connection: BusConnection
    /// The calls of distributors; it ends with the connection.
    let calls: AsyncStream<Call>
    /// Yields an element after calls of programs that are no distributor with a registration.
    let strangers: AsyncStream<Void>
    /// Number of calls that the stream has accepted.
    private let accepted: Locked<Int>
    /// The unique name of each distributor with a registration, by bus name; empty if it does not run.
    private let owners: Locked<[String: String]>

    /// Number of calls so far, handled or not.
    var callCount: Int { accepted.withLock { $0 } }

    /// Connects to the session bus, takes the name of this program and runs `body`.
    ///
    /// The object exists before the name, so that no call is lost for which the bus has started this program.
    ///
    /// - Parameters:
    ///   - address: The session bus.
    ///   - distributors: The distributors of existing registrations, which may call as soon as the name is taken.
    ///   - body: Uses the connector.
    /// - Throws: ``PushFailure``, and the errors of `body`.
    static func with<Result: Sendable>(
        on address: BusAddress,
        hearing distributors: Set<String> = [],
        _ body: (PushConnector) async throws -> Result
    ) async throws -> Result {
        let (calls, sink) = AsyncStream.makeStream(of: Call.self, bufferingPolicy: .bufferingOldest(maximumCalls))
        let (strangers, alarm) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (accepted, owners) = (Locked(0), Locked<[String: String]>([:]))
        let connection: BusConnection
        do throws(BusError) {
            connection = try await BusConnection.connect(to: address) { message in
                let callers = owners.withLock { Set($0.filter { $0.value == message.sender }.keys) }
                return answer(message, of: callers) { call in
                    if callers.isEmpty {
                        alarm.yield()
                        return
                    }
                    // Counted before anyone can have handled it.
                    accepted.withLock { if case .enqueued = sink.yield(call) { $0 += 1 } }
                }
            }
        } catch {
            throw PushFailure(error)
        }
        return try await withCleanup {
            await connection.close()
        } of: {
            let connector = PushConnector(
                connection: connection,
                calls: calls,
                strangers: strangers,
                accepted: accepted,
                owners: owners
            )
            do throws(BusError) {
                // Of all distributors: a rule for each would have to follow the registrations.
                let rule = BusNames.ownerChanges + ",arg0namespace='\(UnifiedPush.distributorNamespace)'"
                _ = try await connection.observe([rule]) { event in
                    switch event {
                    case .signal(let message):
                        guard let change = message.ownerChange else { return }
                        owners.withLock { if $0[change.name] != nil { $0[change.name] = change.owner } }
                    case .disconnected:
                        sink.finish()
                        alarm.finish()
                    }
                }
                for distributor in distributors { try await connector.hear(distributor) }
            } catch {
                throw PushFailure(error)
            }
            try await connector.takeName()
            return try await body(connector)
        }
    }

    /// Accepts calls of a distributor from now on.
    private func hear(_ distributor: String) async throws(BusError) {
        let isNew = owners.withLock { owners in
            guard owners[distributor] == nil else { return false }
            owners[distributor] = ""
            return true
        }
        guard isNew else { return }
        let owner: String?
        do throws(BusError) {
            owner = try await connection.owner(of: distributor)
        } catch {
            owners.withLock { $0[distributor] = nil }
            throw error
        }
        // Unless a change was reported meanwhile.
        owners.withLock { if let owner, $0[distributor] == "" { $0[distributor] = owner } }
    }

    private func takeName() async throws {
        let isOwner: Bool
        do throws(BusError) {
            isOwner = try await connection.requestName(UnifiedPush.service)
        } catch {
            throw PushFailure(error)
        }
        guard isOwner else { throw PushFailure.nameTaken }
    }

    /// Gives up the name of this program, so that the bus starts it again for the next call.
    ///
    /// - Returns: False if a call arrived meanwhile; the name is kept then.
    /// - Throws: ``PushFailure``.
    func releaseName(ifNoCallAfter count: Int) async throws -> Bool {
        do throws(BusError) {
            try await connection.releaseName(UnifiedPush.service)
        } catch {
            throw PushFailure(error)
        }
        // The bus delivers in order, so every earlier call precedes its reply.
        if callCount == count { return true }
        try await takeName()
        return false
    }

    /// Answers a call on the bus, and passes it on if it is well formed.
    private static func answer(
        _ message: BusMessage,
        of distributors: Set<String>,
        _ accept: (Call) -> Void
    ) -> BusReply {
        guard message.path == UnifiedPush.connectorPath else { return .unknownObject }
        guard message.interface == UnifiedPush.connector,
            ["Message", "NewEndpoint", "Unregistered"].contains(message.member)
        else { return .unknownMethod }
        guard message.body.count == 1, let fields = message.body[0].fields else {
            return .error(name: "org.freedesktop.DBus.Error.InvalidArgs", message: "Expected a dictionary.")
        }
        if let token = fields["token"]?.text, token.utf8.count <= maximumTokenLength,
            let event = event(message.member, fields)
        {
            accept(Call(distributors: distributors, token: token, event: event))
        }
        guard message.member == "Message", let id = fields["id"]?.text, id.utf8.count <= maximumTokenLength else {
            return .values([.properties([:])])
        }
        return .values([.properties(["id": .string(id)])])
    }

    /// Returns the contents of a call; `nil` for malformed ones, which must be ignored.
    private static func event(_ member: String, _ fields: [String: BusValue]) -> Call.Event? {
        switch member {
        case "Message":
            guard let bytes = fields["message"]?.octets, (1...UnifiedPush.maximumMessageLength).contains(bytes.count)
            else { return nil }
            return .message(bytes)
        case "NewEndpoint":
            guard let endpoint = fields["endpoint"]?.text, endpoint.utf8.count <= maximumEndpointLength,
                endpoint.hasPrefix("https://")
            else { return nil }
            return .endpoint(endpoint)
        default: return .unregistered
        }
    }

    /// Returns the bus name of the distributor to use.
    ///
    /// - Parameter chosen: The full bus name, or its last part; `nil` if the user has chosen none.
    /// - Throws: ``PushFailure``, `CancellationError`.
    func distributor(_ chosen: String?) async throws -> String {
        try await Self.distributor(chosen, over: connection)
    }

    /// Returns the bus name of the distributor to use, over a connection to the session bus.
    ///
    /// - Throws: ``PushFailure``, `CancellationError`.
    static func distributor(_ chosen: String?, over connection: BusConnection) async throws -> String {
        var names: Set<String> = []
        for member in ["ListNames", "ListActivatableNames"] {
            let (daemon, path) = (BusNames.daemon, BusNames.daemonPath)
            let reply = try await call(daemon, path, daemon, member, [], over: connection)
            guard case .array(_, let values)? = reply.first else { continue }
            names.formUnion(values.compactMap(\.text).filter(UnifiedPush.isDistributor))
        }
        if let chosen {
            let wanted = [chosen, UnifiedPush.distributorPrefix + chosen]
            guard let found = names.first(where: wanted.contains) else {
                throw names.isEmpty ? PushFailure.noDistributor : .choose(names.sorted())
            }
            return found
        }
        guard let first = names.first else { throw PushFailure.noDistributor }
        guard names.count == 1 else { throw PushFailure.choose(names.sorted()) }
        return first
    }

    /// Registers a subscription, or asks for its current address, which arrives as a call.
    ///
    /// - Throws: ``PushFailure``.
    func register(_ registration: PushRegistration) async throws {
        do throws(BusError) {
            try await hear(registration.distributor)
        } catch {
            throw PushFailure(error)
        }
        let reply = try await call(
            registration.distributor,
            UnifiedPush.distributorPath,
            UnifiedPush.distributor,
            "Register",
            [
                .properties([
                    "service": .string(UnifiedPush.service),
                    "token": .string(registration.token.text),
                    "description": .string("Sign-in requests from linked computers"),
                    "vapid": .string(registration.relayKey.base64URL),
                ])
            ]
        )
        let fields = reply.first?.fields ?? [:]
        guard fields["success"]?.text == "REGISTRATION_SUCCEEDED" else {
            throw PushFailure.refused(fields["reason"]?.text)
        }
    }

    /// Ends a subscription.
    ///
    /// - Throws: ``PushFailure``.
    func unregister(_ registration: PushRegistration) async throws {
        try await Self.unregister(registration, over: connection)
    }

    /// Ends a subscription over a connection to the session bus.
    ///
    /// - Throws: ``PushFailure``.
    static func unregister(_ registration: PushRegistration, over connection: BusConnection) async throws {
        do throws(BusError) {
            _ = try await connection.call(
                registration.distributor,
                UnifiedPush.distributorPath,
                UnifiedPush.distributor,
                "Unregister",
                [.properties(["token": .string(registration.token.text)])],
                timeout: timeout
            )
        } catch {
            throw PushFailure(error)
        }
    }

    /// Returns true if the bus starts this program for a call.
    func isActivatable() async throws -> Bool {
        let reply = try await call(BusNames.daemon, BusNames.daemonPath, BusNames.daemon, "ListActivatableNames", [])
        guard case .array(_, let values)? = reply.first else { return false }
        return values.contains { $0.text == UnifiedPush.service }
    }

    private func call(
        _ destination: String,
        _ path: String,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue]
    ) async throws -> [BusValue] {
        try await Self.call(destination, path, interface, member, arguments, over: connection)
    }

    private static func call(
        _ destination: String,
        _ path: String,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue],
        over connection: BusConnection
    ) async throws -> [BusValue] {
        do throws(BusError) {
            return try await connection.call(destination, path, interface, member, arguments, timeout: timeout)
        } catch {
            if error == .cancelled { throw CancellationError() }
            throw PushFailure(error)
        }
    }
}
