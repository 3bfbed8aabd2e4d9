// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel

/// Why there is no channel by radio; the ceremony goes on through the relay.
public struct RadioChannelFailure: Sendable, Equatable {
    /// The cause in a few words.
    public let words: String

    init(_ error: any Error) {
        words =
            switch error {
            case let error as L2CAPError: error.words
            case ClientFailure.phoneSilent: "the phone did not answer the handshake in time"
            case TunnelError.closed, TunnelError.connectionLost: "the connection broke"
            case is HandshakeError: "who answered has not read the code"
            default: "what came was no handshake"
            }
    }
}

extension NearbyPhone {
    /// Connects by radio and shakes hands, if the phone can be reached so; `nil` if not, and the relay is the way.
    ///
    /// An advert's suffix is open to forgery, so whoever answers has proved nothing before the handshake is done, and
    /// whatever fails until then fails alone. Some phones refuse a connection now and then, so there is a second try.
    ///
    /// - Throws: `CancellationError`.
    func connectByRadio(
        _ timeouts: ClientTimeouts,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> (L2CAPChannel, ConnectedPhone)? {
        guard let byRadio else { return nil }
        do {
            events(.connectingByRadio)
            let channel = try await connect(byRadio.get(), within: timeouts.connectingByRadio)
            do {
                events(.connectedByRadio)
                return (channel, try await shakeHands(over: channel, timeouts.handshake))
            } catch {
                await channel.close()
                throw error
            }
        } catch {
            try Task.checkCancellation()
            events(.radioChannelFailed(RadioChannelFailure(error)))
            return nil
        }
    }

    private func connect(_ route: L2CAPRoute, within limit: Duration) async throws -> L2CAPChannel {
        let deadline = ContinuousClock.now + limit
        do {
            // Time is left for the second try, which tells more of a phone that went away.
            return try L2CAPChannel(try await route.connect(within: limit * 2 / 3))
        } catch is L2CAPError {
            return try L2CAPChannel(try await route.connect(within: ContinuousClock.now.duration(to: deadline)))
        }
    }
}

extension L2CAPChannel {
    /// Messages over a connected socket.
    convenience init(_ socket: L2CAPSocket) throws(L2CAPError) {
        guard let descriptor = socket.handOver() else { throw .failed("the channel is in use") }
        self.init(adopting: descriptor, largestPacket: socket.largestPacket)
    }
}

/// Runs `body`, and closes the channel when it has ended; what breaks then is no relay's connection, but the phone's.
func byRadio<Result>(_ channel: L2CAPChannel, _ body: () async throws -> Result) async throws -> Result {
    do {
        return try await closing(channel, body)
    } catch TunnelError.connectionLost {
        throw ClientFailure.phoneVanished
    }
}

/// Runs `body`, and closes the channel when it has ended.
func closing<Result>(_ channel: L2CAPChannel, _ body: () async throws -> Result) async throws -> Result {
    do {
        let result = try await body()
        await channel.close()
        return result
    } catch {
        await channel.close()
        throw error
    }
}
