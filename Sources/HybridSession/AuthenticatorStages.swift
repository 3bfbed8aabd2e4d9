// SPDX-License-Identifier: Apache-2.0

internal import BLEAdvert
internal import CTAP
internal import CaBLE
internal import Crypto
internal import DataChannel

/// Stage 1: the relay has given a routing ID; a fresh nonce makes the advert.
struct OpenTunnel: Sendable {
    private let offer: QROffer
    private let eid: EID
    private let tunnel: WebSocketTunnel

    init(offer: QROffer, domain: TunnelDomain, tunnel: WebSocketTunnel) throws {
        guard let routingID = tunnel.routingID else { throw AuthenticatorSessionFailure.internalFault("no routing ID") }
        var generator = SystemRandomNumberGenerator()
        self.offer = offer
        self.eid = EID(routingID: routingID, domain: domain, using: &generator)
        self.tunnel = tunnel
    }

    /// Puts the advert on the air until message 1 has come; the first message decides, there is no second try.
    func advertise(
        on radio: BluetoothRadio,
        _ limit: Duration,
        onAir: @escaping @Sendable () -> Void
    ) async throws -> VerifiedClient {
        let message1 = try await radio.withAdvert(eid.sealed(with: offer.secret.eidKey)) { live in
            onAir()
            return try await withThrowingTaskGroup(of: HandshakeMessage.self) { group in
                group.addTask {
                    try await withDeadline(limit, orThrow: AuthenticatorSessionFailure.noClient) {
                        do {
                            return try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) }
                        } catch let error as TunnelError where error == .messageRefused || error.tellsOfBadMessage {
                            throw AuthenticatorSessionFailure.notVerified
                        }
                    }
                }
                group.addTask {
                    throw await live.waitUntilGone() ?? CancellationError() as any Error
                }
                defer { group.cancelAll() }
                guard let message = try await group.next() else { throw CancellationError() }
                return message
            }
        }
        let handshake = ResponderHandshake(
            clientKey: offer.clientKey,
            psk: offer.secret.psk(heard: eid),
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        )
        let answer = try handshake.answer(message1)
        let message2 = answer.message2
        return VerifiedClient(
            message2: message2,
            tunnel: tunnel,
            channel: EncryptedChannel(over: tunnel, keys: answer.keys)
        )
    }
}

/// Stage 2: message 1 is verified, so the client was near; nothing was sent yet.
struct VerifiedClient: Sendable {
    let message2: HandshakeMessage
    let tunnel: WebSocketTunnel
    let channel: EncryptedChannel

    /// Answers the handshake and says at once what can be asked for.
    func introduce(_ info: AuthenticatorInfo) async throws -> ServedClient {
        try await tunnel.send(WireMessage(bytes: message2.bytes))
        try await channel.send(PostHandshakeMessage(info: EncodedAuthenticatorInfo(bytes: info.encoded)))
        return ServedClient(channel: channel)
    }
}
