// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
public import HybridCaBLE
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridThreads

/// The contact with a linked phone: its advert, and the tunnel through which the relay wakes it.
///
/// ```
/// client                        relay                        authenticator
///    │ contact, payload ────────→ │ wake-up ───────────────────────→ │ asks its user
///    │ ←──────────────────── 101  │                                  │
///    │ receives the advert ←───── Bluetooth ───────────────────────  │
///    │ handshake 1 ─────────────→ │ ←──────────────────────── joins  │
///    │ ←───────────────────── 00  │ handshake 1 ───────────────────→ │
///    │ ←───────────────────────────────────── handshake 2, getInfo  │
/// ```
///
/// Handshake message 1 requires the advert, so the phone must be nearby, as with a QR code. It does not require that
/// the phone has joined: it waits in the relay until then.
struct LinkedContact: Sendable {
    let link: StoredLink
    let request: ContactRequest
    /// The decrypted advert, once it has been received.
    let advert = AwaitableState<EID?>(nil)
    /// True once the phone has joined the tunnel.
    private let hasJoined = Locked(false)

    /// Creates a contact with a fresh nonce.
    init(_ link: StoredLink, hint: RequestHint, _ claims: ContactClaims) {
        var generator = SystemRandomNumberGenerator()
        self.link = link
        request = ContactRequest(
            linkID: link.linkID,
            secret: link.secret,
            hint: hint,
            host: link.domain.host,
            claims: link.requiresProof ? claims : nil,
            using: &generator
        )
    }

    /// The adverts that belong to this contact.
    var target: AdvertScanner.Target {
        AdvertScanner.Target(key: link.secret.eidKey(nonce: request.nonce), ceremony: .linked, acceptsL2CAP: false)
    }

    /// Waits for the advert, before or after the phone joins the tunnel.
    ///
    /// - Parameters:
    ///   - channel: The tunnel.
    ///   - join: Waits until the phone has joined; returns at once if the relay does not report that.
    /// - Throws: `TunnelError`, also if a message comes before the handshake; `CancellationError`.
    func meet(
        over channel: some MessageChannel,
        join: @escaping @Sendable () async throws -> Void
    ) async throws -> ContactedPhone {
        try await withThrowingTaskGroup(of: ContactedPhone?.self) { group in
            group.addTask { [self] in
                await advert.wait { $0 != nil }
                try Task.checkCancellation()
                return advert.read { $0 }.map { ContactedPhone(link: link, eid: $0) }
            }
            group.addTask { [self] in
                try await waitUntilJoined(join)
                // No message is acceptable. This also notices that the tunnel was closed, for example because the user
                // has declined.
                return try await channel.receive { _ -> ContactedPhone? in nil }
            }
            defer { group.cancelAll() }
            for try await case let phone? in group { return phone }
            throw CancellationError()
        }
    }

    /// Waits until the phone has joined, once in all.
    ///
    /// - Parameter join: Waits for the relay's report, which arrives only once. If it is canceled, it takes no report.
    func waitUntilJoined(_ join: @Sendable () async throws -> Void) async throws {
        guard !hasJoined.withLock({ $0 }) else { return }
        try await join()
        hasJoined.withLock { $0 = true }
    }

    /// Returns the failure for an error of the contact.
    ///
    /// Only a phone can remove a link: a relay of this project must present the phone's signature. The end of a push
    /// subscription has no proof, so the link stays. Other relays report a removed contact ID by status 410 alone.
    func failure(_ error: any Error) -> any Error {
        switch error {
        case let error as TunnelError where error.isContactGone:
            switch link.contactID.kind {
            // A vendor's ID may have the same first byte, but its phones announce no proof.
            case .push where link.requiresProof: return ClientFailure.phoneUnsubscribed(link.name)
            case .push, .foreign: return ClientFailure.linkGone(link.name)
            case .listener:
                let isRevoked = error.revocation?.proves(link.contactID, host: link.domain.host) ?? false
                return isRevoked ? ClientFailure.linkGone(link.name) : ClientFailure.phoneUnreachable(link.name)
            }
        case let error as TunnelError
        where error == .contactUnreachable || error.isServerFault && error != .contactLimited:
            return ClientFailure.phoneUnreachable(link.name)
        case let error as TunnelError where error == .phoneDeclined: return ClientFailure.phoneDeclined(link.name)
        case is HandshakeError: return ClientFailure.notLinkedPhone(link.name)
        default: return error
        }
    }
}

/// Stage 2 of a contact: the advert of the linked phone is decrypted.
struct ContactedPhone: Sendable {
    let link: StoredLink
    let eid: EID

    /// Performs a new handshake over `channel`, in which only the linked phone can answer.
    ///
    /// - Parameters:
    ///   - channel: The tunnel.
    ///   - limit: Time until message 2, after the phone has joined.
    ///   - joined: Waits until the phone has joined.
    func performHandshake(
        over channel: some MessageChannel,
        _ limit: Duration,
        joined: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> ConnectedPhone {
        let handshake = try InitiatorHandshake(
            authenticatorKey: link.authenticatorKey,
            psk: link.secret.psk(for: eid),
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        )
        // Updates can be verified only with the key of a QR code.
        return try await ConnectedPhone(handshake, over: channel, limit, joined: joined) { _ in nil }
    }
}

extension ClientSession {
    /// Performs one ceremony with a linked phone, without a code.
    ///
    /// If the ceremony fails, the link remains valid, unless the failure is ``ClientFailure/linkGone(_:)``.
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - claims: The claims about this request. The caller stores their number before, and never uses it again.
    ///   - request: The request for a phone that supports all features.
    ///   - adapted: Returns the request for this phone. If it throws, the ceremony ends before the user is prompted.
    ///   - events: Called with each event.
    /// - Throws: ``ClientFailure``, `CancellationError`, and errors of `adapted`.
    public func contact<Unfit: Error>(
        _ link: StoredLink,
        _ claims: ContactClaims,
        _ request: CTAPRequest,
        for adapted: @escaping @Sendable (AuthenticatorInfo) throws(Unfit) -> CTAPRequest,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> ClientResult {
        let contact = LinkedContact(link, hint: request.hint, claims)
        events(.contacting(link.name, linked: link.created))
        let outcome: Result<ClientResult, Unfit> = try await ClientFailure.wrapping {
            do {
                return try await withThrowingTaskGroup(of: Result<ClientResult, Unfit>?.self) { group in
                    // The phone may advertise before the relay has answered.
                    group.addTask {
                        let match = try await AdvertScanner(radio).scan(for: contact.target) { isFirst in
                            if !isFirst { events(.radioRestored) }
                        } lost: {
                            events(.radioLost($0))
                        }
                        contact.advert.change { $0 = match.eid }
                        return nil
                    }
                    group.addTask {
                        try await reach(contact, for: adapted, events: events)
                    }
                    defer { group.cancelAll() }
                    for try await case let result? in group { return result }
                    throw CancellationError()
                }
            } catch {
                throw contact.failure(error)
            }
        }
        var result = try outcome.get()
        result.linkedPhone = link.name
        return result
    }

    private func reach<Unfit: Error>(
        _ contact: LinkedContact,
        for adapted: @escaping @Sendable (AuthenticatorInfo) throws(Unfit) -> CTAPRequest,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> Result<ClientResult, Unfit> {
        let redirected: @Sendable (RedirectStep) -> Void = { events(.redirected($0)) }
        return try await WebSocketTunnel.withContact(
            contact.link.contactID,
            payload: contact.request.payload,
            at: RelayEndpoint(domain: contact.link.domain, network: network),
            closing: closing,
            redirected: redirected
        ) { tunnel, _ in
            events(.phoneNotified(contact.link.name))
            let tooLate = ClientFailure.phoneNotAnswering(contact.link.name)
            let phone = try await withDeadline(timeouts.untilPhoneFound, orThrow: tooLate) {
                try await contact.meet(over: tunnel, join: tunnel.waitForPhone)
            }
            events(.phoneFound)
            let connected = try await phone.performHandshake(over: tunnel, timeouts.handshake) {
                try await withDeadline(timeouts.untilPhoneFound, orThrow: tooLate) {
                    try await contact.waitUntilJoined(tunnel.waitForPhone)
                }
            }
            return try await exchange(with: connected, for: adapted, events: events)
        }
    }
}
