// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel

/// Stage 1 of a linked session: the authenticator has joined the tunnel, and the client looks for its advert.
struct LinkedClientConnection: Sendable {
    let request: VerifiedWakeUp
    let identity: PhoneIdentity
    let tunnel: WebSocketTunnel
    let eid: EID

    init(
        _ wakeUp: ApprovedWakeUp,
        identity: PhoneIdentity,
        tunnel: WebSocketTunnel,
        using generator: inout some RandomNumberGenerator
    ) {
        self.request = wakeUp.request
        self.identity = identity
        self.tunnel = tunnel
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

    /// Advertises until handshake message 1 of the client verifies.
    func advertise(
        on radio: BluetoothRadio,
        _ limit: Duration,
        _ events: @escaping @Sendable (AuthenticatorEvent) -> Void
    ) async throws -> VerifiedClient {
        let advert = eid.sealed(with: request.link.secret.eidKey(nonce: request.nonce))
        return try await radio.withAdvert(advert) { advert in
            events(.advertising)
            return try await withThrowingTaskGroup(of: VerifiedClient.self) { group in
                group.addTask {
                    try await withDeadline(limit, orThrow: AuthenticatorSessionFailure.computerNotNearby) {
                        try await awaitClient()
                    }
                }
                group.addTask {
                    throw await advert.waitUntilGone() ?? CancellationError() as any Error
                }
                defer { group.cancelAll() }
                guard let verified = try await group.next() else { throw CancellationError() }
                return verified
            }
        }
    }

    private func awaitClient() async throws -> VerifiedClient {
        do {
            return try verify(try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) })
        } catch let error as TunnelError where error == .messageRefused || error.reportsBadMessage {
            throw AuthenticatorSessionFailure.notVerified
        }
    }

    /// Verifies the client's first message; if it does not verify, nothing is sent.
    private func verify(_ message1: HandshakeMessage) throws(HandshakeError) -> VerifiedClient {
        let handshake = ResponderHandshake(
            authenticatorKey: identity.key,
            psk: request.link.secret.psk(for: eid),
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        )
        // An update is never sent in a linked session, because its proof requires the key of a QR code.
        return VerifiedClient(try handshake.answer(message1), over: .webSocket(tunnel))
    }
}
