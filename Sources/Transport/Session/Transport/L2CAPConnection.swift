// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives

/// The reason why L2CAP cannot be used; the ceremony then uses the relay.
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
            case is HandshakeError: "the device that answered has not scanned the code"
            default: "the received message is not a handshake message"
            }
    }
}

/// An L2CAP channel to a phone, after a successful handshake.
struct L2CAPConnection: Sendable {
    let phone: ConnectedPhone
    private let channel: L2CAPChannel

    /// Creates a connection: opens a channel and performs the handshake, and closes the channel if the handshake fails.
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

    /// Opens a channel.
    ///
    /// Some phones reject a connection now and then, so there is a second attempt.
    private static func connect(_ route: L2CAPRoute, within limit: Duration) async throws -> L2CAPChannel {
        let deadline = ContinuousClock.now + limit
        do {
            // Leave time for the second attempt; its error is more accurate if the phone has gone.
            return try L2CAPChannel(try await route.connect(within: limit * 2 / 3))
        } catch is L2CAPError {
            return try L2CAPChannel(try await route.connect(within: ContinuousClock.now.duration(to: deadline)))
        }
    }

    /// Runs `body`, then closes the channel.
    ///
    /// A lost connection means that the phone disconnected, because no relay is involved.
    func use<Result: Sendable>(_ body: (ConnectedPhone) async throws -> Result) async throws -> Result {
        do {
            return try await withCleanup(channel.close) { try await body(phone) }
        } catch let error as TunnelError where error == .connectionLost {
            throw ClientFailure.phoneDisconnected
        }
    }
}

extension NearbyPhone {
    /// Connects over L2CAP and performs the handshake; `nil` if that fails and the relay must be used.
    ///
    /// The suffix of an advert is not authenticated, so any device may answer until the handshake succeeds. Until then,
    /// failures are therefore reported as events only.
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
