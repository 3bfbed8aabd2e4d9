// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridNetwork
internal import NIOCore

/// A phone's connection to a relay, on which wake-ups of one contact ID arrive.
///
/// The relay sends a challenge, and the phone proves with its `ContactKey` that the contact ID is its own. The
/// signature covers the name of the relay's host, so no other relay can use it. The relay is not trusted with anything
/// else: a wake-up carries a payload that only a linked client can authenticate.
public struct ContactListener: Sendable {
    private let tunnel: WebSocketTunnel
    private let key: ContactKey
    private let host: String

    /// Connects to the relay, proves ownership of the contact ID, runs `body`, and closes the connection.
    ///
    /// The relay closes a connection with code 1012 if the phone should connect again in a few seconds.
    ///
    /// - Parameters:
    ///   - key: Key of the contact ID.
    ///   - relay: The relay of the phone's tunnel domain.
    ///   - bearerToken: The relay's token, if it requires one.
    ///   - body: The work while the phone is listening.
    /// - Throws: ``TunnelError``, `CancellationError`, and the errors of `body`.
    public static func withListener<Result: Sendable>(
        _ key: ContactKey,
        at relay: RelayEndpoint,
        bearerToken: BearerToken? = nil,
        _ body: @Sendable (ContactListener) async throws -> Result
    ) async throws -> Result {
        try await withListener(key, at: relay, bearerToken: bearerToken, grace: .seconds(20), body)
    }

    /// Connects as above; `grace` is the time without any data that is tolerated after a ping is due.
    static func withListener<Result: Sendable>(
        _ key: ContactKey,
        at relay: RelayEndpoint,
        bearerToken: BearerToken?,
        grace: TimeAmount,
        _ body: @Sendable (ContactListener) async throws -> Result
    ) async throws -> Result {
        let path = TunnelPath.listen(key.publicKey.contactID)
        let opening = TunnelOpening(relay: relay, path: path, bearerToken: bearerToken)
        return try await WebSocketTunnel.run(opening) { tunnel in
            let host = relay.domain.host
            let listener = ContactListener(tunnel: tunnel, key: key, host: host)
            let pingSeconds = try await tunnel.withTimeLimit(
                .seconds(Int64(relay.network.timeouts.open)),
                .network(.timedOut(host: relay.displayName(of: host), .upgrading))
            ) { try await listener.proveOwnership() }
            try await tunnel.endAfterSilence(.seconds(Int64(pingSeconds)) + grace)
            return try await body(listener)
        }
    }

    /// Answers the relay's challenge and returns the interval of its pings in seconds.
    private func proveOwnership() async throws -> Int {
        guard case .hello(let challenge, let pingSeconds) = try await receive() else { throw Self.unexpected }
        let statement = ContactStatement.listen(host: host, challenge, key.publicKey.contactID)
        try await send(.own(key.publicKey, key.sign(statement)))
        guard case .ok = try await receive() else { throw Self.unexpected }
        return pingSeconds
    }

    /// Waits for the next wake-up.
    ///
    /// A relay repeats a wake-up that is still pending to each new connection of the contact ID.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    public func next() async throws -> ContactWakeUp {
        guard case .wake(let number, let routing, let tunnel, let payload, let seconds) = try await receive() else {
            throw Self.unexpected
        }
        return ContactWakeUp(number: number, routing: routing, tunnel: tunnel, payload: payload, seconds: seconds)
    }

    /// Declines a wake-up; the relay closes the client's connection.
    ///
    /// - Parameter number: Number of the wake-up.
    /// - Throws: ``TunnelError``, `CancellationError`.
    public func decline(_ number: UInt32) async throws { try await send(.decline(number: number)) }

    /// Revokes the contact ID: the relay presents the phone's signature to clients that use the link.
    ///
    /// The relay then closes the connection with code 1000. It may forget the revocation when it restarts, so the phone
    /// repeats it later.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    public func revoke() async throws {
        try await send(.gone(key.sign(.gone(host: host, key.publicKey.contactID))))
    }

    func send(_ message: ListenMessage) async throws {
        try await tunnel.send(WireMessage(bytes: message.encoded))
    }

    func receive() async throws -> ListenMessage {
        let bytes = try await tunnel.receive { $0.bytes }
        do throws(ListenMessage.ParseError) {
            return try ListenMessage(parsing: bytes)
        } catch {
            throw TunnelError.relayMisbehaved("it sent a malformed message (\(error))")
        }
    }

    static let unexpected = TunnelError.relayMisbehaved("it sent a message out of turn")
}

/// A client's wish to reach the phone.
public struct ContactWakeUp: Hashable, Sendable {
    /// Number of the wake-up on this relay.
    public let number: UInt32
    /// Routing ID of the tunnel in which the client waits.
    public let routing: RoutingID
    /// ID of the tunnel in which the client waits; the relay chose it.
    public let tunnel: TunnelID
    /// The client's message, which is not authentic until a `ContactRequest` has verified it.
    public let payload: ClientPayload
    /// Time in seconds until the relay closes the tunnel.
    public let seconds: Int

    /// Creates a wake-up.
    public init(number: UInt32, routing: RoutingID, tunnel: TunnelID, payload: ClientPayload, seconds: Int) {
        (self.number, self.routing, self.tunnel) = (number, routing, tunnel)
        (self.payload, self.seconds) = (payload, seconds)
    }
}
