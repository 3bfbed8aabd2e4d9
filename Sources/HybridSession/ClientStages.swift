// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives

/// Stage 1: keys are drawn and the QR can be shown.
struct DrawnOffer: Sendable {
    let offer: QROffer
    private let clientKey: P256.KeyAgreement.PrivateKey

    init(hint: RequestHint, channels: [DataChannelKind]) {
        var generator = SystemRandomNumberGenerator()
        clientKey = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        offer = QROffer(
            clientKey: clientKey.publicKey,
            secret: QRSecret(using: &generator),
            created: WallClock.realtime.now(),
            hint: hint,
            channels: channels
        )
    }

    /// Listens first and shows then, so that no advert is missed; the first that opens decides.
    ///
    /// Bluetooth that goes away meanwhile is waited for, within the same limit: the code on the screen stays good.
    func awaitPhone(
        _ radio: BluetoothRadio,
        _ limit: Duration,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> NearbyPhone {
        let key = offer.secret.eidKey
        let ear = AdvertScanner(radio)
        do {
            let answer = try await withDeadline(limit, orThrow: ClientFailure.phoneNotNearby) {
                try await ear.listen(for: key, offersL2CAP: offer.channels.contains(.l2cap)) { isFirst in
                    events(isFirst ? .drawn(offer) : .radioBack)
                } lost: {
                    events(.radioLost($0))
                }
            }
            return NearbyPhone(offer: offer, clientKey: clientKey, eid: answer.eid, byRadio: answer.route)
        } catch let error as RadioError {
            throw ClientFailure.radio(error)
        } catch ClientFailure.phoneNotNearby {
            // Who was deaf to the end can't say that nobody was near.
            throw ear.deafness.map(ClientFailure.radio) ?? ClientFailure.phoneNotNearby
        }
    }
}

/// Stage 2: the advert is open; it names the relay and is half of the pre-shared key.
struct NearbyPhone: Sendable {
    let offer: QROffer
    let clientKey: P256.KeyAgreement.PrivateKey
    let eid: EID
    /// The way to the phone by radio, if its advert has one that was asked for, or why that is no way.
    let byRadio: Result<L2CAPRoute, L2CAPError>?

    var path: TunnelPath { .connect(eid.routingID, offer.secret.tunnelID) }

    func location(_ route: RelayRoute) throws -> RelayEndpoint {
        guard let domain = eid.domain else { throw ClientFailure.unknownRelay }
        return route.location(of: domain)
    }

    /// Each channel has a handshake of its own, begun afresh.
    func shakeHands(over channel: some MessageChannel, _ limit: Duration) async throws -> ConnectedPhone {
        let handshake = try InitiatorHandshake(
            clientKey: clientKey,
            psk: offer.secret.psk(heard: eid),
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        )
        let message1 = WireMessage(bytes: handshake.message1.bytes)
        let message2 = try await withDeadline(limit, orThrow: ClientFailure.phoneSilent) {
            // A device that takes no bytes is as silent as one that gives none.
            try await channel.send(message1)
            return try await channel.receive { HandshakeMessage(bytes: $0.bytes) }
        }
        let keys = try handshake.finish(message2)
        return ConnectedPhone(channel: EncryptedChannel(over: channel, keys: keys))
    }
}

/// Stage 3: the channel is secret; the phone introduces itself.
struct ConnectedPhone: Sendable {
    let channel: EncryptedChannel

    func meet(_ limit: Duration) async throws -> ReadyPhone {
        let message = try await withDeadline(limit, orThrow: ClientFailure.phoneSilent) {
            try await channel.receivePostHandshake()
        }
        guard message.features.contains(.ctap), let encoded = message.info else { throw ClientFailure.phoneLacksCTAP }
        do {
            return ReadyPhone(channel: channel, info: try AuthenticatorInfo(parsing: encoded.bytes))
        } catch {
            throw ClientFailure.phoneMisbehaved("its description of itself can't be read")
        }
    }
}

/// Stage 4: a phone that takes requests, one at a time.
struct ReadyPhone: Sendable {
    let channel: EncryptedChannel
    let info: AuthenticatorInfo

    /// News from the phone may come at any time and are no answer.
    static let mostUpdates = 16

    /// Asks, waits for the answer, and says goodbye, whether one came or not: so that a question that nobody waits for
    /// is taken down on the phone.
    func exchange(_ request: CTAPRequest, _ limit: Duration) async throws -> CTAPResponse {
        do {
            let response = try await ask(request, limit)
            await shutDown()
            return response
        } catch {
            await shutDown()
            throw error
        }
    }

    private func ask(_ request: CTAPRequest, _ limit: Duration) async throws -> CTAPResponse {
        try await channel.send(.ctap(CTAPPayload(bytes: request.encoded)))
        return try await withDeadline(limit, orThrow: ClientFailure.userTimedOut) {
            for _ in 0...Self.mostUpdates {
                switch try await channel.receive() {
                case .ctap(let payload): return try CTAPResponse(parsing: payload.bytes)
                // Links are not kept yet; an update that can be read is all that is asked of it.
                case .update: continue
                // webauthn-rs's phone says goodbye although only clients should; it will not answer any more.
                case .shutdown: throw TunnelError.closed(code: 1000)
                case .json: throw ClientFailure.phoneMisbehaved("it answered with JSON where CTAP was asked")
                }
            }
            throw ClientFailure.phoneMisbehaved("it sends news without end")
        }
    }

    /// Tells the phone that the ceremony is over, also from a cancelled task; it may be gone already, which is as good.
    ///
    /// On a connection that takes nothing more, somebody who presses Ctrl-C waits for the whole of the limit; on a busy
    /// machine, goodbye must have its turn within it.
    func shutDown() async {
        let channel = channel
        await Task {
            try? await withDeadline(.seconds(5), orThrow: ClientFailure.phoneVanished) {
                try await channel.send(.shutdown)
            }
        }.value
    }
}

extension CTAPRequest {
    var hint: RequestHint { command == .makeCredential ? .makeCredential : .getAssertion }
}
