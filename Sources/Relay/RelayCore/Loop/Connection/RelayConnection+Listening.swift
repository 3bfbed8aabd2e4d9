// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives
internal import NIOCore

// A phone that listens for wake-ups: challenged, listening, closing.
extension RelayConnection {
    /// Largest number of seconds in a wake-up.
    static let maximumWakeSeconds: Int64 = 600

    /// Sends the response and the challenge; the phone has the time of a request to answer.
    func challenge(_ contact: ContactID, _ request: UpgradeRequest) {
        let challenge = ListenChallenge.random()
        role = .listening(ListeningPhone(contact, challenge, sharedLimits, now: loop.now))
        deadline = loop.now + limits.headTime
        write(request.response(routing: nil))
        send(.hello(challenge, pingSeconds: limits.listenerPingSeconds))
    }

    func send(_ message: ListenMessage) { write(ServerFrame.binary(message.encoded)) }

    // MARK: Messages

    fileprivate func handle(_ message: ListenMessage, from phone: ListeningPhone) {
        switch (phone.phase, message) {
        case (.challenged(let contact, let challenge), .own(let key, let signature)):
            proveContact(contact, challenge, key, signature, phone)
        case (.listening(_, let digest, let id), .decline(let number)):
            // By mailbox on this event loop, too, where the order to respond to the client may still wait.
            for instruction in loop.context.registry.decline(number, for: digest, by: id) { instruction.post() }
        case (.listening(let key, let digest, _), .gone(let signature)): revoke(key, digest, signature)
        case (.listening, .vapidRequest):
            send(loop.context.push.map { .vapid($0.publicKey) } ?? .unsealed(.notOffered))
        case (.listening, .seal(let subscription)): requestPushContact(subscription, phone)
        case (.listening, .proof(let nonce)): proveSubscription(nonce, phone)
        default: closeTunnel(.policyViolation)
        }
    }

    /// Makes the connection a listener if the phone owns the contact ID of its request.
    private func proveContact(
        _ contact: ContactID,
        _ challenge: ListenChallenge,
        _ key: ContactPublicKey,
        _ signature: ContactSignature,
        _ phone: ListeningPhone
    ) {
        guard let id, let host = loop.context.contactHost, let digest = ContactDigest(contact),
            key.verifies(signature, of: .listen(host: host, challenge, contact))
        else {
            if let admitted { loop.context.admission.recordFailedProof(of: admitted, now: loop.now) }
            return closeTunnel(.policyViolation)
        }
        let member = TunnelMember(mailbox: loop.mailbox, connection: id)
        let (listenerID, instructions) = loop.context.registry.listen(for: digest, by: member)
        phone.phase = .listening(key, digest, listenerID)
        let lifetime = limits.listening.nanoseconds
        // Phones that connected at once, such as after a restart, do not return at once.
        deadline = loop.now + .nanoseconds(lifetime - Int64.random(in: 0...max(0, lifetime / 5)))
        send(.ok)
        loop.carryOut(instructions)
    }

    /// Revokes the contact ID, if its owner has signed that, and closes the connection.
    private func revoke(_ key: ContactPublicKey, _ digest: ContactDigest, _ signature: ContactSignature) {
        guard let host = loop.context.contactHost,
            key.verifies(signature, of: .gone(host: host, key.contactID))
        else { return closeTunnel(.policyViolation) }
        guard let admitted, loop.context.admission.admitRevocation(of: admitted, now: loop.now) else {
            return closeTunnel(.tryAgainLater)
        }
        loop.carryOut(loop.context.registry.revoke(digest, with: Revocation(key: key, signature: signature)))
        closeTunnel(.normal)
    }

    // MARK: Wake-ups

    /// Sends a wake-up to the phone.
    ///
    /// If the connection no longer listens, the next listener gets the wake-up.
    func deliver(_ wakeUp: WakeUp) {
        guard case .listening(let phone) = role, phone.id != nil else { return }
        let left = max(.zero, wakeUp.deadline - loop.now)
        send(
            .wake(
                number: wakeUp.number,
                wakeUp.key.routing,
                wakeUp.key.tunnel,
                wakeUp.payload,
                seconds: Int(min(left.nanoseconds / 1_000_000_000, Self.maximumWakeSeconds))
            )
        )
        update()
    }

    /// Leaves the contact table, because the connection closes.
    func stopListening(_ phone: ListeningPhone) {
        if case .listening(_, let digest, let id) = phone.phase {
            loop.context.registry.stopListening(for: digest, id)
        }
    }
}

/// The state of a phone that listens, or that has not proven yet that it may.
final class ListeningPhone: WebSocketEnd {
    enum Phase {
        /// The phone has not proven its contact ID.
        case challenged(ContactID, ListenChallenge)
        /// The phone is in the contact table.
        case listening(ContactPublicKey, ContactDigest, ListenerID)
    }

    /// Maximum number of bytes from a phone, counted as for a tunnel.
    ///
    /// A phone sends a proof of about 120 bytes, answers to pings, and a few messages for each wake-up.
    private static let maximumBytes = 64 << 10

    fileprivate(set) var phase: Phase
    /// The fragments of an incomplete message.
    private var fragments: [UInt8] = []
    /// The requested contact ID of a push subscription, which waits for its proof.
    var pendingPushContact: PendingPushContact?
    /// Number of such requests so far.
    var pushContactCount = 0

    init(_ contact: ContactID, _ challenge: ListenChallenge, _ limits: LimitsReference, now: NIODeadline) {
        phase = .challenged(contact, challenge)
        super.init(maximumMessage: ListenMessage.maximumLength, pongs: limits.value.pongsPerSecond, now: now)
    }

    /// The listener's number in the contact table, once the phone has proven its contact ID.
    var id: ListenerID? {
        if case .listening(_, _, let id) = phase { id } else { nil }
    }

    override func handle(_ event: FrameEvent, _ bytes: RawSpan, on connection: RelayConnection) {
        sentCost += event.cost
        guard sentCost <= Self.maximumBytes else { return connection.closeTunnel(.policyViolation) }
        switch event {
        case .data(let range, _): receiveMessages(bytes.extracting(range), on: connection)
        case .ping(let payload): pendingPong = Array(copying: bytes.extracting(payload))
        case .pong: break
        case .close(let code): connection.closeTunnel(code)
        }
    }

    /// Handles the messages that end in these frames, and keeps the fragments of an incomplete one.
    private func receiveMessages(_ frames: RawSpan, on connection: RelayConnection) {
        var offset = 0
        while offset < frames.byteCount, connection.isOpen {
            let (payload, isFinal) = ServerFrame.payload(at: offset, in: frames)
            offset = payload.upperBound
            fragments.append(copying: frames.extracting(payload))
            guard isFinal else { continue }
            let message = fragments
            fragments = []
            do throws(ListenMessage.ParseError) {
                connection.handle(try ListenMessage(parsing: message), from: self)
            } catch {
                return connection.closeTunnel(.policyViolation)
            }
        }
    }
}

extension RelayLimits {
    /// The ping interval that the challenge announces, in whole seconds.
    fileprivate var listenerPingSeconds: Int {
        Int(min(max(1, listenerPingInterval.nanoseconds / 1_000_000_000), 300))
    }
}
