// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridThreads

/// Stage 1 of a linked session: the authenticator advertises and joins the tunnel, in which the client waits.
struct LinkedClientConnection: Sendable {
    let request: VerifiedWakeUp
    let identity: PhoneIdentity
    let eid: EID

    init(
        _ wakeUp: ApprovedWakeUp,
        identity: PhoneIdentity,
        using generator: inout some RandomNumberGenerator
    ) {
        self.request = wakeUp.request
        self.identity = identity
        eid = Self.eid(using: &generator)
    }

    /// Returns the plaintext of an advert whose bytes are all random.
    ///
    /// Both ends are in the tunnel already, so routing ID and tunnel domain mean nothing. Chromium rejects numbers of
    /// tunnel domains that are not assigned, so these are redrawn.
    static func eid(using generator: inout some RandomNumberGenerator) -> EID {
        let routing = RoutingID(
            node: .random(in: .min ... .max, using: &generator),
            check: .random(in: .min ... .max, using: &generator)
        )
        while true {
            let number = UInt16.random(in: .min ... .max, using: &generator)
            guard let domain = TunnelDomain(id: number) else { continue }
            return EID(routingID: routing, domain: domain, using: &generator)
        }
    }

    /// Runs `body`, and advertises until it calls its argument, which returns when the advert is withdrawn.
    ///
    /// - Throws: `RadioError` if the advert ends before, the errors of `body`, `CancellationError`.
    func whileAdvertising<Outcome: Sendable>(
        on radio: BluetoothRadio,
        _ events: @escaping @Sendable (AuthenticatorEvent) -> Void,
        _ body: @escaping @Sendable (_ withdraw: @escaping @Sendable () async throws -> Void) async throws -> Outcome
    ) async throws -> Outcome {
        let sealed = eid.sealed(with: request.link.secret.eidKey(nonce: request.nonce))
        let stage = AwaitableState(AdvertStage.sent)
        return try await withThrowingTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                let reportBusy: @Sendable (RadioError) -> Void = { events(.radioBusy($0)) }
                try await radio.withAdvert(sealed, retrying: reportBusy) { advert in
                    events(.advertising)
                    try await Self.keep(advert, until: stage)
                }
                stage.change { $0 = .withdrawn }
                return nil
            }
            group.addTask {
                try await body {
                    stage.change { if $0 == .sent { $0 = .unneeded } }
                    while stage.read({ $0 != .withdrawn }) {
                        await stage.wait { $0 == .withdrawn }
                        try Task.checkCancellation()
                    }
                }
            }
            defer { group.cancelAll() }
            for try await case let outcome? in group { return outcome }
            throw CancellationError()
        }
    }

    private enum AdvertStage: Sendable {
        case sent, unneeded, withdrawn
    }

    /// Waits until the advert is no longer needed; throws if it ends before.
    private static func keep(_ advert: ActiveAdvert, until stage: AwaitableState<AdvertStage>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await stage.wait { $0 != .sent }
                try Task.checkCancellation()
            }
            group.addTask {
                throw await advert.waitUntilGone() ?? CancellationError() as any Error
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Waits until handshake message 1 of the client verifies.
    func awaitClient(in tunnel: WebSocketTunnel, _ limit: Duration) async throws -> VerifiedClient {
        do {
            let message1 = try await withDeadline(limit, orThrow: AuthenticatorSessionFailure.computerNotNearby) {
                try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) }
            }
            return try verify(message1, in: tunnel)
        } catch let error as TunnelError where error == .messageRefused || error.reportsBadMessage {
            throw AuthenticatorSessionFailure.notVerified
        }
    }

    /// Verifies the client's first message; if it does not verify, nothing is sent.
    private func verify(
        _ message1: HandshakeMessage,
        in tunnel: WebSocketTunnel
    ) throws(HandshakeError) -> VerifiedClient {
        let handshake = ResponderHandshake(
            authenticatorKey: identity.key,
            psk: request.link.secret.psk(for: eid),
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        )
        // An update is never sent in a linked session, because its proof requires the key of a QR code.
        return VerifiedClient(try handshake.answer(message1), over: .webSocket(tunnel))
    }
}
