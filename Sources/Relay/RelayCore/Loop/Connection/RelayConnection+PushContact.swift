// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives
internal import NIOCore

// A phone that listens and requests the contact ID of its push subscription.
extension RelayConnection {
    /// Pushes a nonce to the subscription, so that the phone can prove that it receives messages there.
    ///
    /// Without the proof, any peer could aim the relay's messages at the endpoint of another phone.
    func requestPushContact(_ subscription: PushSubscription, _ phone: ListeningPhone) {
        guard let gateway = loop.context.push, let id else { return send(.unsealed(.notOffered)) }
        guard phone.pendingPushContact == nil, phone.pushContactCount < limits.pushContactsPerListener else {
            return send(.unsealed(.rateLimited))
        }
        if let reason = gateway.objection(to: subscription) { return send(.unsealed(reason)) }
        let admission = loop.context.admission
        guard let admitted, admission.admitSeal(of: admitted, now: loop.now) else {
            return send(.unsealed(.rateLimited))
        }
        phone.pushContactCount += 1
        let number = phone.pushContactCount
        let nonce = PushNonce.random()
        phone.pendingPushContact = PendingPushContact(
            number: number,
            subscription: subscription,
            nonce: nonce,
            deadline: loop.now + limits.pushProof
        )
        let mailbox = loop.mailbox
        gateway.send(
            .proof(nonce),
            to: subscription,
            topic: Array("proof".utf8),
            party: admitted.party,
            now: loop.now
        ) { outcome in
            admission.endSeal(of: admitted)
            mailbox.post(.proofPushed(id, number: number, outcome))
        }
    }

    /// Refuses the contact ID if the push server has not accepted the message.
    ///
    /// If it has, or if the phone has already answered, nothing happens.
    func recordProofPush(_ number: Int, _ outcome: PushOutcome) {
        guard case .listening(let phone) = role, phone.pendingPushContact?.number == number,
            let reason = UnsealedReason(outcome)
        else { return }
        phone.pendingPushContact = nil
        send(.unsealed(reason))
        update()
    }

    /// Sends the contact ID if the phone returns the nonce of its request.
    ///
    /// Another nonce is ignored, because a push server may deliver the message of an earlier request late.
    func proveSubscription(_ nonce: PushNonce, _ phone: ListeningPhone) {
        guard let pending = phone.pendingPushContact, pending.nonce.matches(nonce) else { return }
        phone.pendingPushContact = nil
        guard let contact = loop.context.push?.contact(of: pending.subscription) else {
            return send(.unsealed(.endpointTooLong))
        }
        send(.sealed(contact.id, expiry: contact.expiry))
    }

    /// Refuses the contact ID if the phone has not returned the nonce in time.
    func checkPushContact() {
        guard case .listening(let phone) = role, let pending = phone.pendingPushContact, pending.deadline <= loop.now
        else { return }
        phone.pendingPushContact = nil
        send(.unsealed(.proofTimedOut))
    }

    // MARK: Clients

    /// Returns the subscription of the phone that a client contacts; `nil` if the phone listens.
    func pushSubscription(for request: UpgradeRequest) throws(UpgradeRefusal) -> PushSubscription? {
        guard case .contact(let contact) = request.path, contact.kind == .push else { return nil }
        guard let subscription = loop.context.push?.subscription(of: contact) else { throw .foreignContact }
        return subscription
    }

    /// Sends a client's wake-up to the phone's push server, whose answer decides about the client.
    func push(_ request: UpgradeRequest, in key: TunnelIdentity, to subscription: PushSubscription) {
        guard let gateway = loop.context.push, let payload = request.payload, case .contact(let contact) = request.path
        else { return }
        let (registry, admission) = (loop.context.registry, loop.context.admission)
        let held = takeHold()
        let seconds = min(limits.waiting.nanoseconds / 1_000_000_000, Self.maximumWakeSeconds)
        let message = PushMessage.wake(key.routing, key.tunnel, payload, seconds: Int(seconds))
        gateway.send(
            message,
            to: subscription,
            topic: contact.bytes,
            party: held?.party,
            now: loop.now
        ) { outcome in
            if var held { admission.endHold(of: &held) }
            registry.recordPush(key, outcome)
        }
    }
}

/// A request for a contact ID that waits for the proof of its push subscription.
struct PendingPushContact {
    /// Number of the request on its connection.
    let number: Int
    let subscription: PushSubscription
    let nonce: PushNonce
    let deadline: NIODeadline
}

extension UnsealedReason {
    /// Creates the reason for a message that did not reach the push server; `nil` if it did.
    fileprivate init?(_ outcome: PushOutcome) {
        switch outcome {
        case .accepted: return nil
        case .notPermitted: self = .endpointNotAllowed
        case .limited: self = .rateLimited
        case .gone, .refused, .failed, .canceled: self = .pushServerRefused
        }
    }
}
