// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridBLEAdvert
public import HybridCTAP
public import HybridCaBLE
public import HybridDataChannel
internal import HybridThreads

/// The phone's side of a ceremony, from a scanned QR to the last answer.
///
/// Read it beside ``ClientSession``, which is its mirror.
///
/// ```
/// desktop                        relay                        phone
///    │ ─────────────────────────── light ─────────── scans the QR │
///    │                            │ ←───────────── opens a tunnel │
///    │                            │ routing ID ─────────────────→ │
///    │ ←────────────────────────── radio ─────────── advertises   │
///    │ handshake 1 ───────────────────────────────→ verifies it,  │
///    │                                            withdraws the advert
///    │ ←──────────────────────────────── handshake 2, getInfo     │
///    │ CTAP request ──────────────────────────────→ asks its user │
///    │ ←──────────────────────────────────────── CTAP response    │
///    │ shutdown ──────────────────────────────────→ closes        │
/// ```
///
/// Until handshake message 1 verifies, the other side has proved nothing: it gets no byte, and the user no
/// question. One advert serves one attempt; its nonce is fresh each time.
///
/// A client that offers it may also come by radio alone (CTAP 2.3): then the advert says where this phone listens, and the
/// first who verifies, by either way, is the one. What strangers try by radio ends nothing, since anybody near can: they
/// get no byte and are let go. Without a relay the ceremony goes on by radio.
public struct AuthenticatorSession: Sendable {
    /// How presence is proved.
    public let radio: BluetoothRadio
    /// The relay this phone uses.
    public let location: RelayEndpoint
    /// The token for relays that want one.
    public let bearerToken: BearerToken?
    /// How long each wait may take.
    public let timeouts: AuthenticatorTimeouts
    /// Whether a client that offers it may come by radio alone.
    public let acceptsBLEChannel: Bool

    /// A session over a radio and a relay.
    public init(
        radio: BluetoothRadio,
        location: RelayEndpoint,
        bearerToken: BearerToken? = nil,
        timeouts: AuthenticatorTimeouts = AuthenticatorTimeouts(),
        acceptsBLEChannel: Bool = true
    ) {
        self.radio = radio
        self.location = location
        self.bearerToken = bearerToken
        self.timeouts = timeouts
        self.acceptsBLEChannel = acceptsBLEChannel
    }

    /// Serves one client until it says goodbye or goes away; every request is passed to `answer`.
    ///
    /// When the client goes away in the middle of a request, the task that runs `answer` is cancelled. `sent` is called
    /// after each answer that was sent; one that was not sent ends the session. `delivered` is called when the client
    /// says goodbye or asks again after that, and so has shown that it was there for the answer.
    ///
    /// - Throws: ``AuthenticatorSessionFailure``, `CancellationError`.
    public func serve(
        _ offer: QROffer,
        info: AuthenticatorInfo,
        events: @escaping @Sendable (AuthenticatorEvent) -> Void,
        answer: @escaping @Sendable (CTAPRequest) async -> CTAPResponse,
        sent: @escaping @Sendable () async -> Void,
        delivered: @escaping @Sendable () async -> Void
    ) async throws -> AuthenticatorOutcome {
        try await explainingAuthenticator {
            let listener = await listener(for: offer, events)
            defer { listener?.close() }
            return try await withTunnel(for: offer, unlessBy: listener, events) { tunnel in
                let waiting = PendingClientConnection(
                    offer: offer,
                    domain: location.domain,
                    tunnel: tunnel,
                    listener: listener
                )
                let verified = try await waiting.advertise(on: radio, timeouts.untilClient, events)
                listener?.close()
                events(.clientVerified(over: verified.road.kind))
                return try await verified.road.use(insteadOf: tunnel) {
                    let client = try await verified.introduce(info)
                    return try await client.serve(
                        timeouts,
                        events: events,
                        answer: answer,
                        sent: sent,
                        delivered: delivered
                    )
                }
            }
        }
    }

    /// Listens for channels by radio, if the client offers them and there can be any here.
    private func listener(
        for offer: QROffer,
        _ events: @Sendable (AuthenticatorEvent) -> Void
    ) async -> L2CAPListener? {
        guard acceptsBLEChannel, offer.channels.contains(.l2cap) else { return nil }
        do throws(L2CAPError) {
            let listener = try await radio.listener()
            events(.listeningByRadio)
            return listener
        } catch {
            events(.radioChannelFailed(RadioChannelFailure(error)))
            return nil
        }
    }

    /// Opens the tunnel, without which only a client that comes by radio can be served.
    private func withTunnel(
        for offer: QROffer,
        unlessBy listener: L2CAPListener?,
        _ events: @escaping @Sendable (AuthenticatorEvent) -> Void,
        _ body: @escaping @Sendable (WebSocketTunnel?) async throws -> AuthenticatorOutcome
    ) async throws -> AuthenticatorOutcome {
        let isOpen = Locked(false)
        let serving: @Sendable (WebSocketTunnel) async throws -> AuthenticatorOutcome = { tunnel in
            isOpen.withLock { $0 = true }
            events(.tunnelOpen(location.domain))
            return try await body(tunnel)
        }
        do {
            return try await WebSocketTunnel.withTunnel(
                .new(offer.secret.tunnelID),
                at: location,
                bearerToken: bearerToken,
                redirected: { events(.redirected($0)) },
                serving
            )
        } catch let error as TunnelError where listener != nil && !isOpen.withLock({ $0 }) {
            events(.relayOut(error))
            return try await body(nil)
        }
    }
}

/// How long an authenticator waits.
public struct AuthenticatorTimeouts: Sendable {
    /// From the advert to handshake message 1.
    public var untilClient: Duration = .seconds(60)
    /// For the next request when none is being answered.
    public var untilRequest: Duration = .seconds(60)

    /// The usual bounds.
    public init() {}
}

/// What happened.
public enum AuthenticatorEvent: Sendable {
    /// The relay sends to another host, which is asked next; comes up to five times.
    case redirected(RedirectStep)
    /// The relay keeps a tunnel for us.
    case tunnelOpen(TunnelDomain)
    /// The advert is on the air.
    case advertising
    /// Clients can come by radio alone, too.
    case listeningByRadio
    /// Clients can't come by radio, and only the relay is left.
    case radioChannelFailed(RadioChannelFailure)
    /// The relay can't be used, and only the radio is left.
    case relayOut(TunnelError)
    /// The client proved that it heard the advert, which is withdrawn.
    case clientVerified(over: DataChannelKind)
    /// A request came, or something that is none.
    case request(CTAPCommand?)
    /// It was answered with this status.
    case answered(CTAPStatus)
}

/// How a session that began well ended.
public enum AuthenticatorOutcome: Sendable, Equatable {
    /// The client said goodbye.
    case shutDown
    /// The channel ended between requests.
    case clientLeft(ChannelCloseReason)
    /// The channel ended while a request was being answered; nothing came of it.
    case clientLeftDuringRequest(ChannelCloseReason)
    /// The user agreed and the request, of this kind, was fulfilled, but the channel ended before the client could hear
    /// of it.
    case answerLost(CTAPCommand, ChannelCloseReason)
}
