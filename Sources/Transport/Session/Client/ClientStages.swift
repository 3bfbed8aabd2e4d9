// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridPrimitives

/// Stage 1: the keys exist, and the QR code can be shown.
struct ShownCode: Sendable {
    private let keys: CodeKeys
    private let clientKey: P256.KeyAgreement.PrivateKey
    private let offersLinking: Bool
    /// The event with the code.
    private let ready: ClientEvent

    /// Creates the code of a sign-in, or of another request.
    init(hint: RequestHint, channels: [DataChannelKind], offersLinking: Bool = false) {
        clientKey = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let offer = QROffer(
            clientKey: clientKey.publicKey,
            secret: .random(),
            created: WallClock.realtime.now(),
            hint: hint,
            channels: channels,
            supportsLinking: offersLinking
        )
        (keys, ready) = (offer.keys, .codeReady(offer))
        self.offersLinking = offersLinking
    }

    /// Creates the code of a transfer.
    init(purpose: TransferPurpose, channels: [DataChannelKind]) {
        clientKey = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let code = TransferCode(
            receiverKey: clientKey.publicKey,
            secret: .random(),
            created: WallClock.realtime.now(),
            purpose: purpose,
            channels: channels
        )
        (keys, ready) = (code.keys, .transferCodeReady(code))
        offersLinking = false
    }

    /// The adverts that belong to this code.
    private var target: AdvertScanner.Target {
        AdvertScanner.Target(key: keys.eidKey, ceremony: .qr, acceptsL2CAP: keys.channels.contains(.l2cap))
    }

    /// Starts to scan, reports the code, and waits for the first advert that its key decrypts.
    ///
    /// The scan starts before the code is reported, so that no advert is missed. If Bluetooth becomes unavailable, the
    /// code stays valid, and the session waits for Bluetooth within the same limit.
    func awaitPhone(
        _ radio: BluetoothRadio,
        _ limit: Duration,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> NearbyPhone {
        let scanner = AdvertScanner(radio)
        do {
            let match = try await withDeadline(limit, orThrow: ClientFailure.phoneNotNearby) {
                try await scanner.scan(for: target) { isFirst in
                    events(isFirst ? ready : .radioRestored)
                } lost: {
                    events(.radioLost($0))
                }
            }
            return NearbyPhone(
                keys: keys,
                clientKey: clientKey,
                offersLinking: offersLinking,
                eid: match.eid,
                l2capRoute: match.route
            )
        } catch let error as RadioError {
            throw ClientFailure(error)
        } catch let error as ClientFailure where error == .phoneNotNearby {
            // While Bluetooth is unavailable, a missing advert does not mean that no phone is nearby.
            throw scanner.currentError.map(ClientFailure.init) ?? error
        }
    }
}

/// Stage 2: the advert is decrypted.
///
/// The advert names the relay and contributes to the pre-shared key.
struct NearbyPhone: Sendable {
    let keys: CodeKeys
    let clientKey: P256.KeyAgreement.PrivateKey
    let offersLinking: Bool
    let eid: EID
    /// The L2CAP route to the phone, or the reason why it is unusable; `nil` if no route was offered or advertised.
    let l2capRoute: Result<L2CAPRoute, L2CAPError>?

    var path: TunnelPath { .connect(eid.routingID, keys.tunnelID) }

    func relay(_ network: NetworkConfiguration) throws -> RelayEndpoint {
        guard let domain = eid.domain else { throw ClientFailure.unknownRelay }
        return RelayEndpoint(domain: domain, network: network)
    }

    /// Performs a new handshake over `channel`; each channel requires its own handshake.
    func performHandshake(over channel: some MessageChannel, _ limit: Duration) async throws -> ConnectedPhone {
        let handshake = try keys.initiatorHandshake(
            clientKey,
            eid,
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        )
        return try await ConnectedPhone(handshake, over: channel, limit) { hash in
            guard offersLinking, let domain = eid.domain else { return nil }
            return LinkVerifier(clientKey: clientKey, handshakeHash: hash, domain: domain)
        }
    }
}

/// Stage 3: the channel is encrypted, and the phone sends its `authenticatorGetInfo` response.
struct ConnectedPhone: Sendable {
    let channel: EncryptedChannel
    let handshakeHash: HandshakeHash
    /// The verifier of updates; `nil` if updates are discarded.
    let verifier: LinkVerifier?

    /// Performs a handshake over `channel`.
    ///
    /// - Parameters:
    ///   - handshake: A new handshake.
    ///   - channel: The channel to the phone.
    ///   - limit: Time for sending message 1, and time until message 2.
    ///   - joined: Waits until the phone can receive message 1.
    ///   - verifier: Returns the verifier of updates for a handshake hash.
    init(
        _ handshake: consuming InitiatorHandshake,
        over channel: some MessageChannel,
        _ limit: Duration,
        joined: @Sendable () async throws -> Void = {},
        verifier: (HandshakeHash) -> LinkVerifier?
    ) async throws {
        let message1 = WireMessage(bytes: handshake.message1.bytes)
        // The peer may accept no data.
        try await withDeadline(limit, orThrow: ClientFailure.phoneSilent) { try await channel.send(message1) }
        try await joined()
        let message2 = try await withDeadline(limit, orThrow: ClientFailure.phoneSilent) {
            try await channel.receive { HandshakeMessage(bytes: $0.bytes) }
        }
        let keys = try handshake.finish(message2)
        handshakeHash = keys.handshakeHash
        self.verifier = verifier(keys.handshakeHash)
        self.channel = EncryptedChannel(over: channel, keys: keys)
    }

    func receiveInfo(_ limit: Duration) async throws -> ReadyPhone {
        let message = try await withDeadline(limit, orThrow: ClientFailure.phoneSilent) {
            try await channel.receivePostHandshake()
        }
        guard message.features.contains(.ctap), let encoded = message.info else { throw ClientFailure.phoneLacksCTAP }
        guard let info = try? AuthenticatorInfo(parsing: encoded) else {
            throw ClientFailure.phoneMisbehaved("its getInfo response can't be read")
        }
        let link = message.linking.flatMap { verifier?.link($0, info: encoded) }
        return ReadyPhone(
            channel: channel,
            info: info,
            encodedInfo: encoded,
            features: message.features,
            verifier: verifier,
            link: link
        )
    }
}

/// Stage 4: the phone accepts requests, one at a time.
struct ReadyPhone: Sendable {
    let channel: EncryptedChannel
    let info: AuthenticatorInfo
    /// The CBOR of ``info``.
    let encodedInfo: [UInt8]
    let features: Set<PhoneFeature>
    let verifier: LinkVerifier?
    /// Linking information that older phones include in their first message.
    let link: StoredLink?

    /// Maximum number of updates that the phone may send before its response, and again afterwards.
    static let maximumUpdates = 16

    /// Sends the request and returns the response, and the link that an update before it contained.
    ///
    /// In all cases *shutdown* is sent at the end, so that the phone closes its prompt.
    func exchange(
        _ request: CTAPRequest,
        _ limit: Duration
    ) async throws -> (response: CTAPResponse, link: StoredLink?) {
        try await withCleanup(shutDown) {
            try await channel.send(.ctap(request.encoded))
            return try await withDeadline(limit, orThrow: ClientFailure.userTimedOut) {
                var link = link
                for _ in 0...Self.maximumUpdates {
                    switch try await channel.receiveFromPhone() {
                    case .ctap(let payload): return (try CTAPResponse(parsing: payload), link)
                    case .update(let information): link = verifiedLink(information) ?? link
                    // The authenticator of webauthn-rs sends *shutdown*, although only clients should. No response
                    // follows.
                    case .shutdown: throw TunnelError.closed(code: 1000)
                    case .json: throw ClientFailure.phoneMisbehaved("it answered with JSON instead of CTAP")
                    }
                }
                throw ClientFailure.phoneMisbehaved("it sends too many updates")
            }
        }
    }

    /// Waits for an update with a link after the response; errors only mean that there is none.
    func awaitLink(_ limit: Duration) async -> StoredLink? {
        let received = try? await withDeadline(limit, orThrow: ClientFailure.userTimedOut) { () -> StoredLink? in
            for _ in 0..<Self.maximumUpdates {
                guard case .update(let information) = try await channel.receiveFromPhone() else { return nil }
                if let link = verifiedLink(information) { return link }
            }
            return nil
        }
        return received ?? nil
    }

    private func verifiedLink(_ information: LinkingInformation?) -> StoredLink? {
        information.flatMap { verifier?.link($0, info: encodedInfo) }
    }

    /// Sends *shutdown*, even if the current task is canceled.
    func shutDown() async { await channel.shutDown() }
}

extension CTAPRequest {
    var hint: RequestHint { command == .makeCredential ? .makeCredential : .getAssertion }
}

extension EncryptedChannel {
    /// Receives a message; an invalid update counts as one without a link.
    func receiveFromPhone() async throws -> ChannelMessage {
        do {
            return try await receive()
        } catch let error as ChannelMessage.ParseError where error == .malformedUpdate {
            return .update(nil)
        }
    }

    /// Sends *shutdown*, even if the current task is canceled.
    ///
    /// Errors are ignored, because the phone may already have disconnected. The limit must be short: a user who presses
    /// Ctrl-C waits that long if the connection accepts no data. It must be long enough for a busy computer to send the
    /// message.
    func shutDown() async {
        await Task {
            try? await withDeadline(.seconds(5), orThrow: ClientFailure.phoneDisconnected) {
                try await self.send(.shutdown)
            }
        }.value
    }
}
