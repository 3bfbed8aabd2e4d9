// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridBLEAdvert
public import HybridCTAP
public import HybridCaBLE
public import HybridDataChannel

/// The desktop's side of a ceremony, from a QR code to the phone's answer.
///
/// Read it beside ``AuthenticatorSession``, which is its mirror.
///
/// ```
/// desktop                        relay                        phone
///    │ draws the QR ───────────── light ──────────────────────→ │
///    │ hears the advert ←──────── radio ─────────────────────── │
///    │ joins the tunnel ────────→ │ ←────────────────────────── │
///    │ handshake 1 ─────────────────────────────────────────→   │
///    │ ←───────────────────────────────── handshake 2, getInfo  │
///    │ CTAP request ────────────────────────────────────────→   │ asks its user
///    │ ←──────────────────────────────────────── CTAP response  │
///    │ shutdown ────────────────────────────────────────────→   │
/// ```
///
/// Each stage is a value that the next one consumes, so none can be left out or run twice.
///
/// A phone may also be reached by radio alone (CTAP 2.3), if the code offers that and its advert says where. That way is
/// tried first; where it fails before the phone has answered the handshake, the one through the relay is taken, with a
/// handshake of its own.
public struct ClientSession: Sendable {
    /// How the phone is heard.
    public let radio: BluetoothRadio
    /// How relays are reached; the relay itself is named by the phone.
    public let route: RelayRoute
    /// How long each wait may take.
    public let timeouts: ClientTimeouts
    /// Whether a channel by radio alone is offered as well; never on a virtual radio.
    public let offersBLEChannel: Bool

    /// A session over a radio and a route.
    public init(
        radio: BluetoothRadio,
        route: RelayRoute,
        timeouts: ClientTimeouts = ClientTimeouts(),
        offersBLEChannel: Bool = false
    ) {
        self.radio = radio
        self.route = route
        self.timeouts = timeouts
        self.offersBLEChannel = offersBLEChannel && !radio.isVirtual
    }

    /// Runs one ceremony; events come in order, the first with the text of the QR.
    ///
    /// - Throws: ``ClientFailure``, `CancellationError`.
    public func perform(
        _ request: CTAPRequest,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> ClientResult {
        try await perform(request, for: { _ throws(Never) in request }, events: events)
    }

    /// Runs one ceremony whose request depends on what the phone says of itself.
    ///
    /// - Parameters:
    ///   - request: The request to a phone that can do everything; the code hints at its kind.
    ///   - adapted: The request to this phone. What it throws ends the ceremony before the user is asked, and is thrown.
    /// - Throws: ``ClientFailure``, `CancellationError`, `Unfit`.
    public func perform<Unfit: Error>(
        _ request: CTAPRequest,
        for adapted: @escaping @Sendable (AuthenticatorInfo) throws(Unfit) -> CTAPRequest,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> ClientResult {
        let drawn = DrawnOffer(hint: request.hint, channels: offersBLEChannel ? [.webSocket, .l2cap] : [.webSocket])
        let heard = try await drawn.awaitPhone(radio, timeouts.untilHeard, events: events)
        events(.phoneHeard)
        let outcome: Result<ClientResult, Unfit> = try await explaining {
            if let (channel, connected) = try await heard.connectByRadio(timeouts, events: events) {
                return try await byRadio(channel) { try await converse(with: connected, for: adapted, events: events) }
            }
            let location = try heard.location(route)
            events(.connecting(location.domain))
            return try await WebSocketTunnel.withTunnel(
                heard.path,
                at: location,
                redirected: { events(.redirected($0)) }
            ) { tunnel in
                let connected = try await heard.shakeHands(over: tunnel, timeouts.handshake)
                return try await converse(with: connected, for: adapted, events: events)
            }
        }
        return try outcome.get()
    }

    private func converse<Unfit: Error>(
        with connected: ConnectedPhone,
        for adapted: @Sendable (AuthenticatorInfo) throws(Unfit) -> CTAPRequest,
        events: @Sendable (ClientEvent) -> Void
    ) async throws -> Result<ClientResult, Unfit> {
        let phone = try await connected.meet(timeouts.handshake)
        let request: CTAPRequest
        do throws(Unfit) {
            request = try adapted(phone.info)
        } catch {
            await phone.shutDown()
            return .failure(error)
        }
        events(.waitingForUser)
        let response = try await phone.exchange(request, timeouts.untilAnswered)
        events(.answered)
        return .success(ClientResult(response: response, info: phone.info))
    }
}

/// The phone's answer, and what it said of itself.
public struct ClientResult: Sendable {
    /// The answer; its status may be a refusal.
    public let response: CTAPResponse
    /// The phone's getInfo.
    public let info: AuthenticatorInfo
}

/// How long a client waits.
public struct ClientTimeouts: Sendable {
    /// Until a phone is heard.
    public var untilHeard: Duration = .seconds(120)
    /// For a channel by radio, first try and second together.
    public var connectingByRadio: Duration = .seconds(12)
    /// For each message of the handshake.
    public var handshake: Duration = .seconds(15)
    /// Until the user has answered on the phone.
    public var untilAnswered: Duration = .seconds(120)

    /// The usual bounds.
    public init() {}
}

/// What happened; each comes once, but for the radio's and redirections.
public enum ClientEvent: Sendable {
    /// The radio listens: the QR may be shown now.
    case drawn(QROffer)
    /// Bluetooth can't be used any more; it is waited for.
    case radioLost(RadioError)
    /// The radio listens again.
    case radioBack
    /// An advert opened under this QR's key.
    case phoneHeard
    /// The phone is being connected to by radio.
    case connectingByRadio
    /// The channel by radio is there; the handshake follows.
    case connectedByRadio
    /// There is no channel by radio, and the relay is asked next.
    case radioChannelFailed(RadioChannelFailure)
    /// The tunnel at this relay is being joined.
    case connecting(TunnelDomain)
    /// The relay sends to another host, which is asked next; comes up to five times.
    case redirected(RedirectStep)
    /// The request is sent; the phone asks its user.
    case waitingForUser
    /// The phone has answered.
    case answered
}
