// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives

/// Stage 1: a client can connect through the relay or over L2CAP.
struct PendingClientConnection: Sendable {
    let keys: CodeKeys
    /// True if the client expects an update.
    private let supportsLinking: Bool
    /// The link that the user offers to the client; `nil` if there is none.
    private let linking: LinkOffer?
    let eid: EID
    let tunnel: WebSocketTunnel?
    let acceptingSocket: L2CAPAcceptingSocket?
    /// Maximum time to wait for the first message on an L2CAP connection.
    var firstMessageTimeout = Duration.seconds(5)

    init(
        keys: CodeKeys,
        supportsLinking: Bool = false,
        linking: LinkOffer? = nil,
        domain: TunnelDomain,
        tunnel: WebSocketTunnel?,
        acceptingSocket: L2CAPAcceptingSocket?
    ) {
        var generator = SystemRandomNumberGenerator()
        (self.keys, self.supportsLinking, self.linking) = (keys, supportsLinking, linking)
        // Without a tunnel there is no routing ID, so zeros are advertised; the client connects over L2CAP.
        let routingID = tunnel?.routingID ?? RoutingID(node: 0, check: 0)
        self.eid = EID(routingID: routingID, domain: domain, using: &generator)
        self.tunnel = tunnel
        self.acceptingSocket = acceptingSocket
    }

    /// Advertises until handshake message 1 of a client verifies.
    func advertise(
        on radio: BluetoothRadio,
        _ limit: Duration,
        _ events: @escaping @Sendable (AuthenticatorEvent) -> Void
    ) async throws -> VerifiedClient {
        let reportBusy: @Sendable (RadioError) -> Void = { events(.radioBusy($0)) }
        return try await radio.withAdvert(
            eid.sealed(with: keys.eidKey),
            acceptingSocket: acceptingSocket,
            retrying: reportBusy
        ) { advert in
            events(.advertising)
            return try await withThrowingTaskGroup(of: VerifiedClient.self) { group in
                group.addTask {
                    try await withDeadline(limit, orThrow: AuthenticatorSessionFailure.noClient) {
                        try await awaitClient(events)
                    }
                }
                group.addTask {
                    throw await advert.waitUntilGone() ?? CancellationError() as any Error
                }
                defer { group.cancelAll() }
                guard let verified = try await group.next() else { throw CancellationError() }
                return verified
            }
        }
    }

    /// Waits for clients over both transports and returns the first one that verifies.
    func awaitClient(_ events: @escaping @Sendable (AuthenticatorEvent) -> Void) async throws -> VerifiedClient {
        try await withThrowingTaskGroup(of: VerifiedClient?.self) { group in
            defer { group.cancelAll() }
            if let tunnel { group.addTask { try await awaitClient(through: tunnel, events) } }
            if let acceptingSocket {
                let acceptor = L2CAPAcceptor(acceptingSocket: acceptingSocket, timeout: firstMessageTimeout)
                group.addTask { try await acceptor.awaitClient(verify) }
            }
            for try await case let verified? in group { return verified }
            // No transport is left.
            throw AuthenticatorSessionFailure.notVerified
        }
    }

    /// Waits for a client through the relay.
    ///
    /// Only a device that read the code, or the relay itself, can connect here, so there is only one attempt. A first
    /// message that does not verify ends the ceremony, unless clients may also connect over L2CAP.
    private func awaitClient(
        through tunnel: WebSocketTunnel,
        _ events: @Sendable (AuthenticatorEvent) -> Void
    ) async throws -> VerifiedClient? {
        do {
            return try verify(try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) }, over: .webSocket(tunnel))
        } catch let error where acceptingSocket != nil && (error is TunnelError || error is HandshakeError) {
            events(.relayUnusable(error as? TunnelError ?? .messageRefused))
            return nil
        } catch let error as TunnelError where error == .messageRefused || error.reportsBadMessage {
            throw AuthenticatorSessionFailure.notVerified
        }
    }

    /// Verifies a client's first message; if it does not verify, nothing is sent.
    private func verify(
        _ message1: HandshakeMessage,
        over transport: Transport
    ) throws(HandshakeError) -> VerifiedClient {
        let handshake = keys.responderHandshake(
            eid,
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        )
        return VerifiedClient(try handshake.answer(message1), over: transport, update: update)
    }

    /// Returns the update for a session with this hash; `nil` if the client expects none.
    ///
    /// A client that supports linking always gets one, so that a relay cannot learn if a link is offered.
    func update(_ hash: HandshakeHash) -> ChannelMessage? {
        guard supportsLinking else { return nil }
        return .update(linking.flatMap { try? $0.information(for: keys.publicKey, hash) })
    }
}

/// The transport that a client used.
enum Transport: Sendable {
    case webSocket(WebSocketTunnel)
    case l2cap(L2CAPChannel)

    var channel: any MessageChannel {
        switch self {
        case .webSocket(let tunnel): tunnel
        case .l2cap(let channel): channel
        }
    }

    var kind: DataChannelKind {
        switch self {
        case .webSocket: .webSocket
        case .l2cap: .l2cap
        }
    }

    /// Runs `body`; over L2CAP, closes the unused tunnel at the same time and the channel afterwards.
    func use<Result: Sendable>(
        insteadOf tunnel: WebSocketTunnel?,
        _ body: () async throws -> Result
    ) async throws -> Result {
        guard case .l2cap(let channel) = self else { return try await body() }
        async let leaving: Void? = tunnel?.close()
        let result = try await withCleanup(channel.close) { try await body() }
        await leaving
        return result
    }
}

/// Stage 2: message 1 is verified, so the client is nearby; nothing has been sent yet.
struct VerifiedClient: Sendable {
    let message2: HandshakeMessage
    let transport: Transport
    let channel: EncryptedChannel
    /// The update that follows the post-handshake message; `nil` if there is none.
    let update: ChannelMessage?
    let handshakeHash: HandshakeHash

    init(
        _ answer: consuming HandshakeAnswer,
        over transport: Transport,
        update: (HandshakeHash) -> ChannelMessage? = { _ in nil }
    ) {
        message2 = answer.message2
        self.transport = transport
        handshakeHash = answer.keys.handshakeHash
        self.update = update(handshakeHash)
        channel = EncryptedChannel(over: transport.channel, keys: answer.takeKeys())
    }

    /// Sends handshake message 2, the post-handshake message and the update.
    func completeHandshake(
        _ info: AuthenticatorInfo,
        presentsCredentials: Bool = false,
        _ events: @Sendable (AuthenticatorEvent) -> Void = { _ in }
    ) async throws -> ServedClient {
        try await sending {
            try await transport.channel.send(WireMessage(bytes: message2.bytes))
            try await channel.send(PostHandshakeMessage(info: info.encoded, presentsCredentials: presentsCredentials))
            if let update {
                try await channel.send(update)
                if case .update(.some) = update { events(.linkOffered(LinkCode(handshakeHash))) }
            }
        }
        return ServedClient(channel: channel)
    }

    /// Sends handshake message 2 of a transfer, in which the receiver sends the next message.
    func completeTransferHandshake() async throws {
        try await sending { try await transport.channel.send(WireMessage(bytes: message2.bytes)) }
    }

    /// Runs `body`, which sends the first messages; over L2CAP, the client may have left before them.
    private func sending(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as TunnelError
            where transport.kind == .l2cap && (error.closeCode != nil || error == .connectionLost)
        {
            throw AuthenticatorSessionFailure.clientSilent
        }
    }
}
