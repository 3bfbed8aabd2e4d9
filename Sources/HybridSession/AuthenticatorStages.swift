// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel

/// Stage 1: a client can come through the relay, by radio, or by both; a fresh nonce makes the advert.
struct PendingClientConnection: Sendable {
    let offer: QROffer
    let eid: EID
    let tunnel: WebSocketTunnel?
    let listener: L2CAPListener?
    /// How long a client that came by radio has for its first message.
    var patience = L2CAPAcceptor.patience

    init(offer: QROffer, domain: TunnelDomain, tunnel: WebSocketTunnel?, listener: L2CAPListener?) {
        var generator = SystemRandomNumberGenerator()
        self.offer = offer
        // Who has no tunnel has no routing ID either, and nobody will ask for it.
        let routingID = tunnel?.routingID ?? RoutingID(node: 0, check: 0)
        self.eid = EID(routingID: routingID, domain: domain, using: &generator)
        self.tunnel = tunnel
        self.listener = listener
    }

    /// Puts the advert on the air until a message 1 has come that verifies.
    func advertise(
        on radio: BluetoothRadio,
        _ limit: Duration,
        _ events: @escaping @Sendable (AuthenticatorEvent) -> Void
    ) async throws -> VerifiedClient {
        try await radio.withAdvert(eid.sealed(with: offer.secret.eidKey), leadingTo: listener) { live in
            events(.advertising)
            return try await withThrowingTaskGroup(of: VerifiedClient.self) { group in
                group.addTask {
                    try await withDeadline(limit, orThrow: AuthenticatorSessionFailure.noClient) {
                        try await awaitClient(events)
                    }
                }
                group.addTask {
                    throw await live.waitUntilGone() ?? CancellationError() as any Error
                }
                defer { group.cancelAll() }
                guard let verified = try await group.next() else { throw CancellationError() }
                return verified
            }
        }
    }

    /// Waits at every door; the first client that verifies is the one.
    func awaitClient(_ events: @escaping @Sendable (AuthenticatorEvent) -> Void) async throws -> VerifiedClient {
        try await withThrowingTaskGroup(of: VerifiedClient?.self) { group in
            defer { group.cancelAll() }
            if let tunnel { group.addTask { try await awaitClient(through: tunnel, events) } }
            if let listener {
                group.addTask { try await L2CAPAcceptor(listener, patience: patience).awaitClient(verify) }
            }
            for try await case let verified? in group { return verified }
            // Nobody can come any more.
            throw AuthenticatorSessionFailure.notVerified
        }
    }

    /// Through the relay comes only who has read the code, or the relay itself: there is no second try.
    ///
    /// A first message that does not verify ends this way alone where clients may come by radio as well.
    private func awaitClient(
        through tunnel: WebSocketTunnel,
        _ events: @Sendable (AuthenticatorEvent) -> Void
    ) async throws -> VerifiedClient? {
        do {
            return try verify(try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) }, over: .relay(tunnel))
        } catch let error as TunnelError where listener != nil {
            events(.relayOut(error))
            return nil
        } catch is HandshakeError where listener != nil {
            events(.relayOut(.messageRefused))
            return nil
        } catch let error as TunnelError where error == .messageRefused || error.tellsOfBadMessage {
            throw AuthenticatorSessionFailure.notVerified
        }
    }

    /// Checks a client's first message; one that does not verify gets no answer.
    private func verify(_ message1: HandshakeMessage, over road: Transport) throws(HandshakeError) -> VerifiedClient {
        let handshake = ResponderHandshake(
            clientKey: offer.clientKey,
            psk: offer.secret.psk(heard: eid),
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        )
        let answer = try handshake.answer(message1)
        let message2 = answer.message2
        return VerifiedClient(
            message2: message2,
            road: road,
            channel: EncryptedChannel(over: road.transport, keys: answer.keys)
        )
    }
}

/// By which way a client came.
enum Transport: Sendable {
    case relay(WebSocketTunnel)
    case radio(L2CAPChannel)

    var transport: any MessageChannel {
        switch self {
        case .relay(let tunnel): tunnel
        case .radio(let channel): channel
        }
    }

    var kind: DataChannelKind {
        switch self {
        case .relay: .webSocket
        case .radio: .l2cap
        }
    }

    /// Runs `body` on this way, and leaves the tunnel that stays empty.
    func use<Result: Sendable>(
        insteadOf tunnel: WebSocketTunnel?,
        _ body: () async throws -> Result
    ) async throws -> Result {
        guard case .radio(let channel) = self else { return try await body() }
        async let closeTimeout: Void? = tunnel?.leave()
        let result = try await closing(channel, body)
        await closeTimeout
        return result
    }
}

/// Stage 2: message 1 is verified, so the client was near; nothing was sent yet.
struct VerifiedClient: Sendable {
    let message2: HandshakeMessage
    let road: Transport
    let channel: EncryptedChannel

    /// Answers the handshake and says at once what can be asked for.
    func introduce(_ info: AuthenticatorInfo) async throws -> ServedClient {
        do {
            try await road.transport.send(WireMessage(bytes: message2.bytes))
            try await channel.send(PostHandshakeMessage(info: EncodedAuthenticatorInfo(bytes: info.encoded)))
        } catch let error as TunnelError where road.kind == .l2cap {
            switch error {
            case .closed, .connectionLost: throw AuthenticatorSessionFailure.clientSilent
            default: throw error
            }
        }
        return ServedClient(channel: channel)
    }
}
