// SPDX-License-Identifier: Apache-2.0

public import BLEAdvert
public import CTAP
public import CaBLE
internal import Crypto
public import DataChannel

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
public struct AuthenticatorSession: Sendable {
    /// How presence is proved.
    public let radio: BluetoothRadio
    /// The relay this phone uses.
    public let location: RelayLocation
    /// The token for relays that want one.
    public let bearerToken: BearerToken?
    /// How long each wait may take.
    public let timeouts: AuthenticatorTimeouts

    /// A session over a radio and a relay.
    public init(
        radio: BluetoothRadio,
        location: RelayLocation,
        bearerToken: BearerToken? = nil,
        timeouts: AuthenticatorTimeouts = AuthenticatorTimeouts()
    ) {
        self.radio = radio
        self.location = location
        self.bearerToken = bearerToken
        self.timeouts = timeouts
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
    ) async throws -> AuthenticatorEnd {
        try await explainingAuthenticator {
            try await WebSocketTunnel.withTunnel(
                .new(offer.secret.tunnelID),
                at: location,
                bearerToken: bearerToken,
                redirected: { events(.redirected($0)) }
            ) { tunnel in
                events(.tunnelOpen(location.domain))
                let waiting = try OpenTunnel(offer: offer, domain: location.domain, tunnel: tunnel)
                let verified = try await waiting.advertise(on: radio, timeouts.untilClient) { events(.advertising) }
                events(.clientVerified)
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
    /// The client proved that it heard the advert, which is withdrawn.
    case clientVerified
    /// A request came, or something that is none.
    case request(CTAPCommand?)
    /// It was answered with this status.
    case answered(CTAPStatus)
}

/// How a session that began well ended.
public enum AuthenticatorEnd: Sendable, Equatable {
    /// The client said goodbye.
    case shutDown
    /// The client or the relay closed the tunnel between requests.
    case clientLeft
    /// The client went away while a request was being answered; nothing came of it.
    case clientLeftDuringRequest
    /// The user agreed and the request, of this kind, was fulfilled, but the client was gone before it could hear of it.
    case answerLost(CTAPCommand)
}
