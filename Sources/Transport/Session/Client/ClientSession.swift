// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridBLEAdvert
public import HybridCTAP
public import HybridCaBLE
public import HybridDataChannel
public import HybridNetwork

/// The client's side of a ceremony, from the QR code to the CTAP response.
///
/// ``AuthenticatorSession`` is the other side of the same ceremony.
///
/// ```
/// client                        relay                   authenticator
///    │ shows the QR code ──────── camera ─────────────────────→ │
///    │ receives the advert ←───── Bluetooth ─────────────────── │
///    │ joins the tunnel ────────→ │ ←────────────────────────── │
///    │ handshake 1 ─────────────────────────────────────────→   │
///    │ ←───────────────────────────────── handshake 2, getInfo  │
///    │ CTAP request ────────────────────────────────────────→   │ asks its user
///    │ ←──────────────────────────────────────── CTAP response  │
///    │ shutdown ────────────────────────────────────────────→   │
/// ```
///
/// Each stage is a value that the next stage requires, so no stage can be skipped.
///
/// If the code offers L2CAP and the advert contains a PSM, the client first tries an L2CAP channel, which needs no
/// relay (CTAP 2.3). If L2CAP fails before the handshake is complete, the client falls back to the relay with a new
/// handshake.
///
/// A phone that is linked with this client can be contacted without a code, see
/// ``contact(_:_:_:for:events:)``. The receiver of a transfer uses ``receive(for:events:_:)``.
public struct ClientSession: Sendable {
    /// The radio that scans for adverts.
    public let radio: BluetoothRadio
    /// Settings for the connection to the relay that the advert names.
    public let network: NetworkConfiguration
    /// Limits for each wait.
    public let timeouts: ClientTimeouts
    /// True if the QR code also offers L2CAP; always false with a virtual radio.
    public let offersBLEChannel: Bool

    /// The terms on which the phone that scans the code may be linked; `nil` if the code does not offer linking.
    public let linking: LinkOfferPolicy?

    /// The tunnels that are closed after the session has returned its result; `nil` if it closes them before.
    public let closing: ClosingTunnels?

    /// Creates a session.
    public init(
        radio: BluetoothRadio,
        network: NetworkConfiguration,
        timeouts: ClientTimeouts = ClientTimeouts(),
        offersBLEChannel: Bool = false,
        linking: LinkOfferPolicy? = nil,
        closing: ClosingTunnels? = nil
    ) {
        self.radio = radio
        self.network = network
        self.timeouts = timeouts
        self.offersBLEChannel = offersBLEChannel && !radio.isVirtual
        (self.linking, self.closing) = (linking, closing)
    }

    /// Performs one ceremony.
    ///
    /// The first event is ``ClientEvent/codeReady(_:)``.
    ///
    /// - Throws: ``ClientFailure``, `CancellationError`.
    public func perform(
        _ request: CTAPRequest,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> ClientResult {
        try await perform(request, for: { _ throws(Never) in request }, events: events)
    }

    /// Performs one ceremony whose request depends on the phone's `authenticatorGetInfo` response.
    ///
    /// - Parameters:
    ///   - request: The request for a phone that supports all features; its kind determines the hint in the QR code.
    ///   - adapted: Returns the request for this phone. If it throws, the ceremony ends before the user is prompted.
    ///   - events: Called with each event.
    /// - Throws: ``ClientFailure``, `CancellationError`, and errors of `adapted`.
    public func perform<Unfit: Error>(
        _ request: CTAPRequest,
        for adapted: @escaping @Sendable (AuthenticatorInfo) throws(Unfit) -> CTAPRequest,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> ClientResult {
        let code = shownCode(hint: request.hint)
        let outcome: Result<ClientResult, Unfit> = try await withPhone(code, events: events) { phone, _ in
            try await exchange(with: phone, for: adapted, events: events)
        }
        return try outcome.get()
    }

    /// The channels that a code of this session offers.
    var offeredChannels: [DataChannelKind] { offersBLEChannel ? [.webSocket, .l2cap] : [.webSocket] }

    /// Returns a new code for a request with this hint.
    func shownCode(hint: RequestHint) -> ShownCode {
        ShownCode(hint: hint, channels: offeredChannels, offersLinking: linking != nil)
    }

    /// Shows a code, connects to the phone that scans it, and runs `body`.
    ///
    /// - Throws: ``ClientFailure``, `CancellationError`.
    func withPhone<Outcome: Sendable>(
        _ code: ShownCode,
        events: @escaping @Sendable (ClientEvent) -> Void,
        _ body: @escaping @Sendable (ConnectedPhone, DataChannelKind) async throws -> Outcome
    ) async throws -> Outcome {
        let nearby = try await code.awaitPhone(radio, timeouts.untilPhoneFound, events: events)
        events(.phoneFound)
        return try await ClientFailure.wrapping {
            if let connection = try await nearby.connectByRadio(timeouts, events: events) {
                return try await connection.use { try await body($0, .l2cap) }
            }
            let relay = try nearby.relay(network)
            events(.connecting(relay.domain))
            return try await WebSocketTunnel.withTunnel(
                nearby.path,
                at: relay,
                closing: closing,
                redirected: { events(.redirected($0)) }
            ) { tunnel in
                try await body(try await nearby.performHandshake(over: tunnel, timeouts.handshake), .webSocket)
            }
        }
    }

    func exchange<Unfit: Error>(
        with connected: ConnectedPhone,
        for adapted: @Sendable (AuthenticatorInfo) throws(Unfit) -> CTAPRequest,
        events: @Sendable (ClientEvent) -> Void
    ) async throws -> Result<ClientResult, Unfit> {
        let phone = try await connected.receiveInfo(timeouts.handshake)
        let request: CTAPRequest
        do throws(Unfit) {
            request = try adapted(phone.info)
        } catch {
            await phone.shutDown()
            return .failure(error)
        }
        events(.waitingForUser)
        let (response, early) = try await phone.exchange(request, timeouts.untilAnswered)
        events(.answered)
        var offered: OfferedLink?
        if let linking, let verifier = phone.verifier, let evidence = linking.evidence(in: response, to: request) {
            if early == nil { events(.waitingForLink) }
            var link = early
            if link == nil { link = await phone.awaitLink(linking.updateTimeout) }
            link?.evidence = evidence
            offered = link.map { OfferedLink(link: $0, code: $0.showedCode ? verifier.code : nil) }
            if let code = offered?.code { events(.linkOffered(code)) }
        }
        let result = ClientResult(
            response: response,
            info: phone.info,
            encodedInfo: phone.encodedInfo,
            features: phone.features,
            offeredLink: offered
        )
        return .success(result)
    }
}

/// The result of a ceremony.
public struct ClientResult: Sendable {
    /// The response, whose status may be an error.
    public let response: CTAPResponse
    /// The phone's `authenticatorGetInfo` response.
    public let info: AuthenticatorInfo
    /// The CBOR of ``info``.
    public let encodedInfo: [UInt8]
    /// The features of the phone, from its first message.
    public let features: Set<PhoneFeature>
    /// The link that the phone offers; the user must confirm it.
    public let offeredLink: OfferedLink?
    /// The name of the linked phone that has answered; `nil` for a phone that has scanned the code.
    public internal(set) var linkedPhone: PhoneName?
}

/// Time limits of a client, one for each stage.
public struct ClientTimeouts: Sendable {
    /// Time until an advert is received.
    public var untilPhoneFound: Duration = .seconds(120)
    /// Time for both attempts to open an L2CAP connection.
    public var connectingByRadio: Duration = .seconds(12)
    /// Time to wait for handshake message 2, and again for the post-handshake message.
    public var handshake: Duration = .seconds(15)
    /// Time until the user has answered on the phone.
    public var untilAnswered: Duration = .seconds(120)

    /// Creates the default limits.
    public init() {}
}

/// An event of a ceremony.
///
/// Each event occurs at most once, except ``radioLost(_:)``, ``radioRestored`` and ``redirected(_:)``.
public enum ClientEvent: Sendable {
    /// The radio is scanning, so the QR code can be shown now.
    case codeReady(QROffer)
    /// The radio is scanning, so the QR code of a transfer can be shown now.
    case transferCodeReady(TransferCode)
    /// Bluetooth became unavailable or is busy; the session waits until it returns.
    case radioLost(RadioError)
    /// Bluetooth is available again, and the radio is scanning.
    case radioRestored
    /// An advert was decrypted with the key of this code.
    case phoneFound
    /// An L2CAP connection to the phone is being opened.
    case connectingByRadio
    /// The L2CAP connection is open; the handshake follows.
    case connectedByRadio
    /// The L2CAP connection failed; the session falls back to the relay.
    case radioChannelFailed(RadioChannelFailure)
    /// The tunnel at this relay is being joined.
    case connecting(TunnelDomain)
    /// The relay redirects to another host, up to five times.
    case redirected(RedirectStep)
    /// The request is about to be sent to the phone, which prompts its user.
    case waitingForUser
    /// The phone has answered.
    case answered
    /// The phone may offer a link now.
    case waitingForLink
    /// The phone has offered a link, and shows the same code.
    case linkOffered(LinkCode)
    /// A linked phone is being contacted; `linked` is the time of linking in seconds since 1970.
    case contacting(PhoneName, linked: UInt64)
    /// The relay has notified the linked phone, or is about to.
    case phoneNotified(PhoneName)
}
