// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridSession

/// A phone that does wrong on purpose: the steps of `AuthenticatorSession`, with the script between them.
///
/// It keeps every rule up to the fault, so that what the desktop makes of it is the answer to that fault alone.
struct ScriptedSession: Sendable {
    let radio: BluetoothRadio
    let location: RelayEndpoint
    let script: PhoneScript
    let report: PhoneReport
    /// Answers a request as the script's person would.
    let answer: @Sendable (CTAPRequest) async -> CTAPResponse
    /// Called when the desktop has shown that it has the answer.
    let delivered: @Sendable () async -> Void

    /// Ends the session where the script says so.
    private struct Gone: Error {
        let ending: PhoneOutcome
    }

    /// How long an advert whose tunnel is gone stays on the air, for the desktop to find the tunnel gone.
    private static let afterlife = Duration.seconds(5)

    /// Serves whoever shows the code, as far as the script goes.
    func serve(_ offer: QROffer) async throws -> PhoneOutcome {
        do {
            if script.fault == .drop(.advert) || script.fault == .vanish(.advert) {
                return try await advertiseWithoutTunnel(offer)
            }
            return try await WebSocketTunnel.withTunnel(.new(offer.secret.tunnelID), at: location) { tunnel in
                try await serve(offer, over: tunnel)
            }
        } catch let gone as Gone {
            return gone.ending
        } catch is HandshakeError {
            throw AuthenticatorSessionFailure.notVerified
        } catch let error where error is FrameError || error is ChannelMessage.ParseError {
            throw AuthenticatorSessionFailure.clientMisbehaved("a message can't be read")
        } catch TunnelError.closed, TunnelError.connectionLost {
            return .left
        }
    }

    private func serve(_ offer: QROffer, over tunnel: WebSocketTunnel) async throws -> PhoneOutcome {
        report.tunnel(location.domain)
        try await pass(.tunnel, tunnel)
        let eid = try freshEID(tunnel)
        let message1 = try await firstMessage(offer, eid, tunnel)
        try await pass(.handshake, tunnel)
        let answer = try ResponderHandshake(
            clientKey: offer.clientKey,
            psk: offer.secret.psk(heard: eid),
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        ).answer(message1)
        report.connected()
        try await send(answer.message2.bytes, .handshake, tunnel)
        var crypter = answer.keys.open()
        let introduction = PostHandshakeMessage(info: EncodedAuthenticatorInfo(bytes: Authenticator.info.encoded))
        try await send(try crypter.sealer.seal(introduction.encoded).bytes, .introduction, tunnel)
        try await pass(.introduction, tunnel)
        while true {
            let frame = try await tunnel.receive { Frame(bytes: $0.bytes) }
            guard case .ctap(let payload) = try ChannelMessage(parsing: crypter.opener.open(frame)) else {
                await delivered()
                return .goodbye
            }
            let request = try? CTAPRequest(parsing: payload.bytes)
            report.request(request)
            try await pass(.request, tunnel)
            let response = if let request { await self.answer(request) } else { CTAPResponse.failure(.invalidCBOR) }
            let sealed = try crypter.sealer.seal(ChannelMessage.ctap(CTAPPayload(bytes: response.encoded)).encoded)
            try await send(sealed.bytes, .answer, tunnel)
            report.answer(response.status)
            try await pass(.answer, tunnel)
        }
    }

    private func firstMessage(
        _ offer: QROffer,
        _ eid: EID,
        _ tunnel: WebSocketTunnel
    ) async throws -> HandshakeMessage {
        try await radio.withAdvert(eid.sealed(with: offer.secret.eidKey), naming: channel) { live in
            report.advertising()
            try await pass(.advert, tunnel)
            return try await withThrowingTaskGroup(of: HandshakeMessage.self) { group in
                group.addTask { try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) } }
                group.addTask { throw await live.waitUntilGone() ?? CancellationError() as any Error }
                defer { group.cancelAll() }
                guard let message = try await group.next() else { throw CancellationError() }
                return message
            }
        }
    }

    /// The tunnel is closed first, so that the desktop can't be quicker than the script.
    private func advertiseWithoutTunnel(_ offer: QROffer) async throws -> PhoneOutcome {
        let isCut = script.fault == .vanish(.advert)
        let eid = try await WebSocketTunnel.withTunnel(.new(offer.secret.tunnelID), at: location) { tunnel in
            report.tunnel(location.domain)
            let eid = try freshEID(tunnel)
            if isCut { await tunnel.cut() }
            return eid
        }
        report.fault("\(isCut ? "cuts the connection" : "closes the tunnel") and goes on advertising it")
        try await radio.withAdvert(eid.sealed(with: offer.secret.eidKey), naming: channel) { _ in
            report.advertising()
            try await Task.sleep(for: Self.afterlife)
        }
        return isCut ? .vanished : .dropped
    }

    /// What makes an advert longer: the number of a channel by radio, which nobody was offered and nobody takes.
    private var channel: L2CAPPSM? { script.hasLongAdvert ? L2CAPPSM(0x80) : nil }

    private func freshEID(_ tunnel: WebSocketTunnel) throws -> EID {
        guard let routingID = tunnel.routingID else {
            throw AuthenticatorSessionFailure.internalFault("no routing ID")
        }
        var generator = SystemRandomNumberGenerator()
        return EID(routingID: routingID, domain: location.domain, using: &generator)
    }

    // MARK: - The script's part

    /// A stage is reached: whether the script ends here, or hangs.
    private func pass(_ stage: PhoneScript.Stage, _ tunnel: WebSocketTunnel) async throws {
        switch script.fault {
        case .drop(stage):
            report.fault("closes the tunnel (\(stage.rawValue))")
            throw Gone(ending: .dropped)
        case .vanish(stage):
            report.fault("cuts the connection (\(stage.rawValue))")
            await tunnel.cut()
            throw Gone(ending: .vanished)
        case .hang(stage):
            report.fault("says nothing more (\(stage.rawValue))")
            // Until the desktop leaves, which ends the waiting with an error.
            while true { _ = try await tunnel.receive { $0 } }
        default: return
        }
    }

    private func send(_ bytes: [UInt8], _ stage: PhoneScript.Stage, _ tunnel: WebSocketTunnel) async throws {
        if script.delay > .zero { try await Task.sleep(for: script.delay) }
        var bytes = bytes
        if script.fault == .corrupt(stage), !bytes.isEmpty {
            report.fault("changes one bit of what it sends (\(stage.rawValue))")
            bytes[bytes.count / 2] ^= 1
        }
        try await tunnel.send(WireMessage(bytes: bytes))
    }
}
