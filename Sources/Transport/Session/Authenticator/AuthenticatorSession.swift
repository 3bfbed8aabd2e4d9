// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridBLEAdvert
public import HybridCTAP
public import HybridCaBLE
public import HybridDataChannel
public import HybridNetwork
internal import HybridThreads

/// The authenticator's side of a ceremony, from the scanned code to the last response.
///
/// ``ClientSession`` is the other side of the same ceremony.
///
/// ```
/// client                        relay                   authenticator
///    │ ─────────────────────────── camera ───────── scans the code │
///    │                            │ ←───────────── opens a tunnel │
///    │                            │ routing ID ─────────────────→ │
///    │ ←────────────────────────── Bluetooth ──────── advertises  │
///    │ handshake 1 ───────────────────────────────→ verifies it,  │
///    │                                      withdraws the advert  │
///    │ ←──────────────────────────────── handshake 2, getInfo     │
///    │ CTAP request ──────────────────────────────→ asks its user │
///    │ ←──────────────────────────────────────── CTAP response    │
///    │ shutdown ──────────────────────────────────→ closes        │
/// ```
///
/// Until handshake message 1 verifies, the peer is unauthenticated: it receives no data, and the user is not prompted.
/// Each ceremony has its own advert with a new nonce.
///
/// A client that offers L2CAP may connect without a relay (CTAP 2.3). In that case, the advert contains the PSM of this
/// authenticator, and the first client that verifies over either transport is served. Any device nearby can connect
/// over L2CAP. A peer that does not verify is therefore disconnected, and the ceremony continues. If the relay is
/// unusable, the ceremony continues over L2CAP.
///
/// A client that supports linking gets an update right after the post-handshake message, with or without a link. A
/// linked client needs no code. The relay wakes the authenticator, which joins the client's tunnel after the user's tap
/// (``ApprovedWakeUp``).
public struct AuthenticatorSession: Sendable {
    /// The radio that sends the advert.
    public let radio: BluetoothRadio
    /// The relay of this authenticator.
    public let relay: RelayEndpoint
    /// The token that the relay requires; `nil` if it requires none.
    public let bearerToken: BearerToken?
    /// Limits for each wait.
    public let timeouts: AuthenticatorTimeouts
    /// True if a client that offers L2CAP may use it.
    public let acceptsBLEChannel: Bool
    /// The kinds of relying parties for which requests are accepted.
    public let relyingParties: Set<RelyingPartyID.Kind>

    /// Creates a session.
    public init(
        radio: BluetoothRadio,
        relay: RelayEndpoint,
        bearerToken: BearerToken? = nil,
        timeouts: AuthenticatorTimeouts = AuthenticatorTimeouts(),
        acceptsBLEChannel: Bool = true,
        relyingParties: Set<RelyingPartyID.Kind> = [.domain]
    ) {
        self.radio = radio
        self.relay = relay
        self.bearerToken = bearerToken
        self.timeouts = timeouts
        self.acceptsBLEChannel = acceptsBLEChannel
        self.relyingParties = relyingParties
    }

    /// Serves one client until it sends *shutdown* or disconnects.
    ///
    /// - Parameters:
    ///   - offer: The scanned code.
    ///   - linking: The link that the user offers to the client, if the client supports linking; `nil` for none.
    ///   - info: The response to `authenticatorGetInfo`.
    ///   - handlers: The closures that the session calls.
    /// - Throws: ``AuthenticatorSessionFailure``, `CancellationError`.
    public func serve(
        _ offer: QROffer,
        linking: LinkOffer? = nil,
        info: AuthenticatorInfo,
        handlers: Handlers
    ) async throws -> AuthenticatorOutcome {
        let events = handlers.events
        return try await AuthenticatorSessionFailure.wrapping {
            let supportsLinking = offer.supportsLinking == true
            return try await withClient(
                offer.keys,
                supportsLinking: supportsLinking,
                linking: linking,
                events
            ) { verified in
                let client = try await verified.completeHandshake(
                    info,
                    presentsCredentials: handlers.wallet != nil,
                    events
                )
                return try await client.answerRequests(timeouts, accepting: relyingParties, handlers)
            }
        }
    }

    /// Opens a tunnel, advertises until a client verifies, and runs `body`.
    ///
    /// - Parameters:
    ///   - keys: The keys of the scanned code.
    ///   - supportsLinking: True if the client expects an update.
    ///   - linking: The link that the user offers to the client; `nil` for none.
    ///   - events: Called with each event.
    ///   - body: The work after handshake message 1.
    func withClient<Outcome: Sendable>(
        _ keys: CodeKeys,
        supportsLinking: Bool = false,
        linking: LinkOffer? = nil,
        _ events: @escaping @Sendable (AuthenticatorEvent) -> Void,
        _ body: @escaping @Sendable (VerifiedClient) async throws -> Outcome
    ) async throws -> Outcome {
        let acceptingSocket = await acceptingSocket(for: keys, events)
        defer { acceptingSocket?.close() }
        return try await withTunnel(keys.tunnelID, orOnly: acceptingSocket, events) { tunnel in
            let pending = PendingClientConnection(
                keys: keys,
                supportsLinking: supportsLinking,
                linking: linking,
                domain: relay.domain,
                tunnel: tunnel,
                acceptingSocket: acceptingSocket
            )
            let verified = try await pending.advertise(on: radio, timeouts.untilClient, events)
            acceptingSocket?.close()
            events(.clientVerified(over: verified.transport.kind))
            return try await verified.transport.use(insteadOf: tunnel) { try await body(verified) }
        }
    }

    /// Serves a linked client whose wake-up the user has approved, until it sends *shutdown* or disconnects.
    ///
    /// The tunnel exists already, at the relay of the link. The session sends no update. It advertises while it connects
    /// to the relay, so that the client's first message waits there when it joins the tunnel.
    ///
    /// - Parameters:
    ///   - wakeUp: The approved wake-up.
    ///   - identity: The identity that the client knows.
    ///   - info: The response to `authenticatorGetInfo`.
    ///   - handlers: The closures that the session calls.
    /// - Throws: ``AuthenticatorSessionFailure``, `CancellationError`.
    public func serveLinked(
        _ wakeUp: ApprovedWakeUp,
        identity: PhoneIdentity,
        info: AuthenticatorInfo,
        handlers: Handlers
    ) async throws -> AuthenticatorOutcome {
        let events = handlers.events
        return try await AuthenticatorSessionFailure.wrappingLinked {
            var generator = SystemRandomNumberGenerator()
            let pending = LinkedClientConnection(wakeUp, identity: identity, using: &generator)
            return try await pending.whileAdvertising(on: radio, events) { withdraw in
                try await WebSocketTunnel.withTunnel(
                    .connect(wakeUp.request.wake.routing, wakeUp.request.wake.tunnel),
                    at: relay,
                    bearerToken: bearerToken,
                    redirected: { events(.redirected($0)) }
                ) { tunnel in
                    events(.tunnelOpen(relay.domain))
                    let verified = try await pending.awaitClient(in: tunnel, timeouts.untilClient)
                    try await withdraw()
                    events(.clientVerified(over: .webSocket))
                    let client = try await verified.completeHandshake(info, events)
                    return try await client.answerRequests(timeouts, accepting: relyingParties, handlers)
                }
            }
        }
    }

    /// Returns a socket for L2CAP connections if the client offers L2CAP and this computer supports it.
    private func acceptingSocket(
        for keys: CodeKeys,
        _ events: @Sendable (AuthenticatorEvent) -> Void
    ) async -> L2CAPAcceptingSocket? {
        guard acceptsBLEChannel, keys.channels.contains(.l2cap) else { return nil }
        do throws(L2CAPError) {
            let acceptingSocket = try await radio.acceptingSocket()
            events(.listeningByRadio)
            return acceptingSocket
        } catch {
            events(.radioChannelFailed(RadioChannelFailure(error)))
            return nil
        }
    }

    /// Opens the tunnel and runs `body`.
    ///
    /// If the tunnel cannot be opened and there is an accepting socket, `body` runs without a tunnel.
    private func withTunnel<Outcome: Sendable>(
        _ tunnelID: TunnelID,
        orOnly acceptingSocket: L2CAPAcceptingSocket?,
        _ events: @escaping @Sendable (AuthenticatorEvent) -> Void,
        _ body: @escaping @Sendable (WebSocketTunnel?) async throws -> Outcome
    ) async throws -> Outcome {
        let isOpen = Locked(false)
        let serving: @Sendable (WebSocketTunnel) async throws -> Outcome = { tunnel in
            isOpen.withLock { $0 = true }
            events(.tunnelOpen(relay.domain))
            return try await body(tunnel)
        }
        do {
            return try await WebSocketTunnel.withTunnel(
                .new(tunnelID),
                at: relay,
                bearerToken: bearerToken,
                redirected: { events(.redirected($0)) },
                serving
            )
        } catch let error as TunnelError where acceptingSocket != nil && !isOpen.withLock({ $0 }) {
            events(.relayUnusable(error))
            return try await body(nil)
        }
    }
}

/// Time limits of an authenticator, one for each stage.
public struct AuthenticatorTimeouts: Sendable {
    /// Time from the advert to handshake message 1.
    public var untilClient: Duration = .seconds(60)
    /// Time to wait for the first or next request; the time for answering a request is not limited.
    public var untilRequest: Duration = .seconds(60)

    /// Creates the default limits.
    public init() {}
}

/// An event of a ceremony.
public enum AuthenticatorEvent: Sendable {
    /// The relay redirects to another host, up to five times.
    case redirected(RedirectStep)
    /// The tunnel is open.
    case tunnelOpen(TunnelDomain)
    /// The advert is being sent.
    case advertising
    /// Bluetooth refuses the advert for now, and is asked again.
    case radioBusy(RadioError)
    /// Clients can also connect over L2CAP.
    case listeningByRadio
    /// Clients cannot connect over L2CAP, so the session uses the relay only.
    case radioChannelFailed(RadioChannelFailure)
    /// The relay cannot be used, so the session uses L2CAP only.
    case relayUnusable(TunnelError)
    /// The client has proved that it received the advert, which is now withdrawn.
    case clientVerified(over: DataChannelKind)
    /// The link was sent to the client, which may keep it or not, and shows the same code if it supports that.
    case linkOffered(LinkCode)
    /// A request was received; `nil` if it cannot be parsed.
    case request(CTAPCommand?)
    /// The request was answered with this status.
    case answered(CTAPStatus)
    /// A request for a digital credential was received.
    case credentialRequested
    /// The request for a digital credential was answered.
    case credentialAnswered
}

/// The outcome of a session that served a client.
public enum AuthenticatorOutcome: Sendable, Equatable {
    /// The client sent *shutdown*.
    case shutDown
    /// The channel closed between requests.
    case clientLeft(ChannelCloseReason)
    /// The channel closed while a request was being answered; the request had no effect.
    case clientLeftDuringRequest(ChannelCloseReason)
    /// The request succeeded, but the channel closed before the response was sent.
    case answerLost(CTAPCommand, ChannelCloseReason)
}

extension AuthenticatorSession {
    /// The closures that a session calls.
    public struct Handlers: Sendable {
        /// Called with each event.
        public let events: @Sendable (AuthenticatorEvent) -> Void
        /// Returns the response to a request; its task is canceled if the client disconnects or sends *shutdown*.
        public let answer: @Sendable (CTAPRequest) async -> CTAPResponse
        /// Called after each response is sent; if a response cannot be sent, the session ends.
        public let sent: @Sendable () async -> Void
        /// Called when the client has confirmed the last response by sending *shutdown* or the next request.
        public let delivered: @Sendable () async -> Void
        /// Returns the reply to a request for a digital credential, both as JSON; `nil` if there is no wallet.
        ///
        /// A reply has at most `ChannelMessage.maximumBodyLength` bytes. Linked clients cannot request credentials.
        public let wallet: (@Sendable ([UInt8]) async -> [UInt8])?

        /// Creates handlers.
        public init(
            events: @escaping @Sendable (AuthenticatorEvent) -> Void,
            answer: @escaping @Sendable (CTAPRequest) async -> CTAPResponse,
            sent: @escaping @Sendable () async -> Void,
            delivered: @escaping @Sendable () async -> Void,
            wallet: (@Sendable ([UInt8]) async -> [UInt8])? = nil
        ) {
            self.events = events
            self.answer = answer
            self.sent = sent
            self.delivered = delivered
            self.wallet = wallet
        }

        /// Returns handlers that also call `observer` with each event.
        public func observed(by observer: @escaping @Sendable (AuthenticatorEvent) -> Void) -> Self {
            Self(
                events: { [events] event in
                    events(event)
                    observer(event)
                },
                answer: answer,
                sent: sent,
                delivered: delivered,
                wallet: wallet
            )
        }
    }
}
