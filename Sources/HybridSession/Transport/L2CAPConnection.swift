// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives

/// The reason why there is no L2CAP channel; the ceremony falls back to the relay.
public struct RadioChannelFailure: Sendable, Equatable {
    /// The cause in a few words.
    public let reason: String

    init(_ error: any Error) {
        reason =
            switch error {
            case let error as L2CAPError: error.reason
            case let error as ClientFailure where error == .phoneSilent:
                "the phone did not answer the handshake in time"
            case let error as TunnelError where error.closeCode != nil || error == .connectionLost:
                "the connection was lost"
            case is HandshakeError: "the device that answered has not read the code"
            default: "the message received is no handshake"
            }
    }
}

/// An L2CAP channel to a phone, after a successful handshake.
struct L2CAPConnection: Sendable {
    let phone: ConnectedPhone
    private let channel: L2CAPChannel

    /// Opens a channel and performs the handshake; closes the channel if that fails.
    init(
        to nearby: NearbyPhone,
        _ route: L2CAPRoute,
        _ timeouts: ClientTimeouts,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws {
        let channel = try await Self.connect(route, within: timeouts.connectingByRadio)
        events(.connectedByRadio)
        do {
            phone = try await nearby.performHandshake(over: channel, timeouts.handshake)
        } catch {
            await channel.close()
            throw error
        }
        self.channel = channel
    }

    /// Connects.
    ///
    /// Some phones reject a connection now and then, so there is a second attempt.
    private static func connect(_ route: L2CAPRoute, within limit: Duration) async throws -> L2CAPChannel {
        let deadline = ContinuousClock.now + limit
        do {
            // The second attempt needs some of the time; its error says more about a phone that went away.
            return try L2CAPChannel(try await route.connect(within: limit * 2 / 3))
        } catch is L2CAPError {
            return try L2CAPChannel(try await route.connect(within: ContinuousClock.now.duration(to: deadline)))
        }
    }

    /// Runs `body`, then closes the channel.
    ///
    /// A lost connection is reported as the phone's, since no relay is involved.
    func use<Result: Sendable>(_ body: (ConnectedPhone) async throws -> Result) async throws -> Result {
        do {
            return try await withCleanup(channel.close) { try await body(phone) }
        } catch let error as TunnelError where error == .connectionLost {
            throw ClientFailure.phoneVanished
        }
    }
}

extension NearbyPhone {
    /// Connects over L2CAP and performs the handshake; `nil` if that is not possible, and the relay has to be used.
    ///
    /// An advert's suffix is not authenticated: until the handshake succeeds, any device may have answered. Therefore
    /// failures up to then are only reported as an event.
    ///
    /// - Throws: `CancellationError`.
    func connectByRadio(
        _ timeouts: ClientTimeouts,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> L2CAPConnection? {
        guard let l2capRoute else { return nil }
        do {
            events(.connectingByRadio)
            return try await L2CAPConnection(to: self, l2capRoute.get(), timeouts, events: events)
        } catch {
            try Task.checkCancellation()
            events(.radioChannelFailed(RadioChannelFailure(error)))
            return nil
        }
    }
}

extension L2CAPChannel {
    /// Creates a channel over a connected socket.
    convenience init(_ socket: L2CAPSocket) throws(L2CAPError) {
        guard let descriptor = socket.handOver() else { throw .failed("the channel is in use") }
        self.init(adopting: descriptor, largestPacket: socket.largestPacket)
    }
}
