// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession

/// An error that ends a ceremony with the outcome that the script requires.
struct ScriptedEnd: Error {
    let outcome: PhoneOutcome
}

/// A session of the phone with intentional faults: the stages of `AuthenticatorSession`, interrupted by the script.
///
/// The session follows the protocol up to the fault, so that only the fault determines the client's reaction.
struct ScriptedSession: Sendable {
    let radio: BluetoothRadio
    let relay: RelayEndpoint
    let script: PhoneScript
    let report: PhoneReport
    /// Returns the scripted user's response to a request.
    let answer: @Sendable (CTAPRequest) async -> CTAPResponse
    /// Called when the client has confirmed that it has received the response.
    let delivered: @Sendable () async -> Void
    /// The wallet; `nil` if the code is not for wallets.
    let wallet: ScriptedWallet?

    /// The time for which an advert is sent after its tunnel was closed, so that the client tries to join the tunnel.
    private static let orphanAdvertTime = Duration.seconds(5)

    /// Serves the client that shows the code, up to the point that the script determines.
    ///
    /// - Throws: ``ScriptedEnd``, `AuthenticatorSessionFailure`, and errors of the tunnel and the radio.
    func serve(_ offer: QROffer) async throws -> PhoneOutcome {
        do {
            if script.fault == .drop(.advert) || script.fault == .vanish(.advert) {
                return try await advertiseWithoutTunnel(offer)
            }
            return try await WebSocketTunnel.withTunnel(.new(offer.secret.tunnelID), at: relay) { tunnel in
                try await serve(offer, over: tunnel)
            }
        } catch is HandshakeError {
            throw AuthenticatorSessionFailure.notVerified
        } catch let error where error is FrameError || error is ChannelMessage.ParseError {
            throw AuthenticatorSessionFailure.clientMisbehaved("a message can't be read")
        } catch let error as TunnelError where error.closeCode != nil || error == .connectionLost {
            return .clientLeft
        }
    }

    private func serve(_ offer: QROffer, over tunnel: WebSocketTunnel) async throws -> PhoneOutcome {
        report.event(.tunnelOpen(relay.domain))
        try await complete(.tunnel, tunnel)
        let eid = try freshEID(tunnel)
        let message1 = try await firstMessage(offer, eid, tunnel)
        try await complete(.handshake, tunnel)
        let answer = try ResponderHandshake(
            clientKey: offer.clientKey,
            psk: offer.secret.psk(for: eid),
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        ).answer(message1)
        report.event(.clientVerified(over: .webSocket))
        try await send(answer.message2.bytes, .handshake, tunnel)
        var crypter = answer.takeKeys().open()
        let introduction = PostHandshakeMessage(
            info: script.capabilities.encoded,
            presentsCredentials: wallet != nil
        )
        try await send(try crypter.sealer.seal(introduction.encoded).bytes, .introduction, tunnel)
        try await complete(.introduction, tunnel)
        while true {
            let frame = try await tunnel.receive { Frame(bytes: $0.bytes) }
            let message = try ChannelMessage(parsing: crypter.opener.open(frame))
            if case .json(let payload) = message, let wallet {
                try await complete(.request, tunnel)
                let reply = ChannelMessage.json(await wallet.reply(to: payload))
                try await send(try crypter.sealer.seal(reply.encoded).bytes, .answer, tunnel)
                report.event(.credentialAnswered)
                try await complete(.answer, tunnel)
                continue
            }
            guard case .ctap(let payload) = message else {
                await delivered()
                return .shutDown
            }
            let request = try? CTAPRequest(parsing: payload, accepting: Set(RelyingPartyID.Kind.allCases))
            report.request(request)
            try await complete(.request, tunnel)
            let response = if let request { await self.answer(request) } else { CTAPResponse.failure(.invalidCBOR) }
            let sealed = try crypter.sealer.seal(ChannelMessage.ctap(response.encoded).encoded)
            try await send(sealed.bytes, .answer, tunnel)
            report.event(.answered(response.status))
            try await complete(.answer, tunnel)
        }
    }

    private func firstMessage(_ offer: QROffer, _ eid: EID, _ tunnel: WebSocketTunnel) async throws -> HandshakeMessage
    {
        try await radio.withAdvert(eid.sealed(with: offer.secret.eidKey), psm: suffixPSM) { advert in
            report.event(.advertising)
            try await complete(.advert, tunnel)
            return try await withThrowingTaskGroup(of: HandshakeMessage.self) { group in
                group.addTask { try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) } }
                group.addTask { throw await advert.waitUntilGone() ?? CancellationError() as any Error }
                defer { group.cancelAll() }
                guard let message = try await group.next() else { throw CancellationError() }
                return message
            }
        }
    }

    /// Advertises a tunnel that is already closed, so that the client cannot join it before the script closes it.
    private func advertiseWithoutTunnel(_ offer: QROffer) async throws -> PhoneOutcome {
        let isCut = script.fault == .vanish(.advert)
        let eid = try await WebSocketTunnel.withTunnel(.new(offer.secret.tunnelID), at: relay) { tunnel in
            report.event(.tunnelOpen(relay.domain))
            let eid = try freshEID(tunnel)
            if isCut { await tunnel.abort() }
            return eid
        }
        report.fault("\(isCut ? "cuts the connection" : "closes the tunnel") and continues to advertise it")
        try await radio.withAdvert(eid.sealed(with: offer.secret.eidKey), psm: suffixPSM) { _ in
            report.event(.advertising)
            try await Task.sleep(for: Self.orphanAdvertTime)
        }
        return isCut ? .vanished : .dropped
    }

    /// The PSM of a longer advert, on which no L2CAP channels are accepted; `nil` for an advert of 20 bytes.
    private var suffixPSM: L2CAPPSM? { script.hasLongAdvert ? L2CAPPSM(0x80) : nil }

    private func freshEID(_ tunnel: WebSocketTunnel) throws -> EID {
        guard let routingID = tunnel.routingID else { throw AuthenticatorSessionFailure.internalFault("no routing ID") }
        var generator = SystemRandomNumberGenerator()
        return EID(routingID: routingID, domain: relay.domain, using: &generator)
    }

    // MARK: - Faults

    /// Ends the session or stops responding after a stage if the script requires that.
    private func complete(_ stage: PhoneScript.Stage, _ tunnel: WebSocketTunnel) async throws {
        switch script.fault {
        case .drop(stage):
            report.fault("closes the tunnel (\(stage.rawValue))")
            throw ScriptedEnd(outcome: .dropped)
        case .vanish(stage):
            report.fault("cuts the connection (\(stage.rawValue))")
            await tunnel.abort()
            throw ScriptedEnd(outcome: .vanished)
        case .hang(stage):
            report.fault("stops responding (\(stage.rawValue))")
            // The loop ends with an error when the client disconnects.
            while true { _ = try await tunnel.receive { $0 } }
        default: return
        }
    }

    private func send(_ bytes: [UInt8], _ stage: PhoneScript.Stage, _ tunnel: WebSocketTunnel) async throws {
        if script.delay > .zero { try await Task.sleep(for: script.delay) }
        var bytes = bytes
        if script.fault == .corrupt(stage), !bytes.isEmpty {
            report.fault("changes one bit of its message (\(stage.rawValue))")
            bytes[bytes.count / 2] ^= 1
        }
        try await tunnel.send(WireMessage(bytes: bytes))
    }
}
