// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives

/// An acceptor of L2CAP connections, which returns the first client that verifies.
///
/// Any device nearby can connect, even one that has not seen the code, so a failed connection does not end the session.
/// The number of connections and the time for each are limited. Each connection has its own handshake, whose keys are
/// discarded on failure. The time is also short because the kernel withdraws the advert while a peer is connected.
struct L2CAPAcceptor: Sendable {
    /// Maximum number of simultaneous connections.
    static let maximumConcurrent = 4
    /// Maximum number of connections in total.
    static let maximumConnections = 32

    private enum Step: Sendable {
        case accepted(L2CAPSocket)
        case verified(VerifiedClient)
        case disconnected
    }

    let acceptingSocket: L2CAPAcceptingSocket
    /// Maximum time to wait for the first message on a connection.
    let timeout: Duration

    /// Waits for a client that verifies.
    ///
    /// - Returns: The client; `nil` if the maximum number of connections is reached or its socket fails before a
    ///   client verifies.
    func awaitClient(
        _ verify: @escaping @Sendable (HandshakeMessage, Transport) throws(HandshakeError) -> VerifiedClient
    ) async throws -> VerifiedClient? {
        try await withThrowingTaskGroup(of: Step.self) { group in
            defer { group.cancelAll() }
            var (total, open, isAccepting) = (0, 0, false)
            while true {
                if !isAccepting, open < Self.maximumConcurrent, total < Self.maximumConnections {
                    isAccepting = true
                    group.addTask { .accepted(try await acceptingSocket.next()) }
                }
                do {
                    switch try await group.next() {
                    case .accepted(let socket)?:
                        (total, open, isAccepting) = (total + 1, open + 1, false)
                        // If the socket is closed, the kernel rejects other peers instead of queueing them.
                        if total == Self.maximumConnections { acceptingSocket.close() }
                        group.addTask { await verifyClient(on: socket, verify) }
                    case .verified(let client)?: return client
                    case .disconnected?: open -= 1
                    case nil: return nil
                    }
                } catch is L2CAPError {
                    // Clients that are already connected may still verify.
                    (total, isAccepting) = (Self.maximumConnections, false)
                    acceptingSocket.close()
                }
            }
        }
    }

    private func verifyClient(
        on socket: L2CAPSocket,
        _ verify: @escaping @Sendable (HandshakeMessage, Transport) throws(HandshakeError) -> VerifiedClient
    ) async -> Step {
        guard let channel = try? L2CAPChannel(socket) else { return .disconnected }
        do {
            let message1 = try await withDeadline(timeout, orThrow: AuthenticatorSessionFailure.noClient) {
                try await channel.receive { HandshakeMessage(bytes: $0.bytes) }
            }
            return .verified(try verify(message1, .l2cap(channel)))
        } catch {
            await channel.close()
            return .disconnected
        }
    }
}
