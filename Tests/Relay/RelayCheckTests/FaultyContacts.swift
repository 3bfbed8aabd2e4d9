// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import NIOCore

/// The linked phones of a ``FaultyRelay``: listeners, wake-ups, revocations.
final class FaultyContacts {
    /// The host that phones name in their signatures.
    static let host = "127.0.0.1"
    /// Another host, which the check names in a wrong proof.
    private static let otherHost = "elsewhere.invalid"
    /// Time that a contact waits for its phone, also on a busy machine; short, because a check waits for its end.
    private static let hold = TimeAmount.seconds(4)
    /// Number of wake-ups that a phone may get.
    private static let mostWakeUps = 3

    private struct Contact {
        let client: FaultyEnd
        let key: String
        let payload: ClientPayload
    }

    private let fault: Fault?
    private var listeners: [ContactID: FaultyEnd] = [:]
    private var held: [ContactID: [Contact]] = [:]
    private var ringing: [UInt32: FaultyEnd] = [:]
    private var wakeUps: [ContactID: Int] = [:]
    private var revocations: [ContactID: (key: ContactPublicKey, signature: ContactSignature)] = [:]

    init(_ fault: Fault?) { self.fault = fault }

    /// Accepts a phone and sends it a challenge.
    func listen(_ end: FaultyEnd, _ text: String, _ webSocketKey: String) {
        guard let contact = ContactID(base64URL: text) else { return end.refuse(400) }
        var generator = SystemRandomNumberGenerator()
        let challenge = ListenChallenge(using: &generator)
        end.accept(webSocketKey, subprotocol: ListenMessage.subprotocol)
        end.send(ListenMessage.hello(challenge, pingSeconds: 55).encoded)
        var owner: ContactPublicKey?
        end.onMessage = { [unowned self, unowned end] bytes in
            switch try? ListenMessage(parsing: bytes) {
            case .own(let key, let signature) where owner == nil && isProof(key, signature, challenge, of: contact):
                owner = key
                end.send(ListenMessage.ok.encoded)
                begin(end, contact)
            case .decline(let number):
                if fault != .ignoresDecline { ringing[number]?.close(1013) }
            case .gone(let signature):
                if let owner, fault != .forgetsRevocation { revocations[contact] = (owner, signature) }
                listeners[contact] = nil
                end.close(1000)
            default: end.close(1008)
            }
        }
    }

    private func isProof(
        _ key: ContactPublicKey,
        _ signature: ContactSignature,
        _ challenge: ListenChallenge,
        of contact: ContactID
    ) -> Bool {
        // A key can only make statements about its own contact ID, so a careless relay would skip the verification.
        if key.contactID != contact { return fault == .acceptsAnyKey }
        func verifies(_ host: String) -> Bool { key.verifies(signature, of: .listen(host: host, challenge, contact)) }
        return switch fault {
        case .refusesProof: false
        case .acceptsAnySignature: true
        case .acceptsAnyHost: verifies(Self.host) || verifies(Self.otherHost)
        default: verifies(Self.host)
        }
    }

    private func begin(_ end: FaultyEnd, _ contact: ContactID) {
        if let older = listeners[contact] {
            if fault == .keepsOlderListener { return }
            older.close(1008)
        }
        listeners[contact] = end
        for each in held.removeValue(forKey: contact) ?? [] { ring(end, each) }
    }

    /// Wakes the phone of a contact, or waits for it.
    func contact(_ end: FaultyEnd, _ text: String, payload: String, _ webSocketKey: String) {
        guard let id = ContactID(base64URL: text), let payload = ClientPayload(hex: payload) else {
            return end.refuse(400)
        }
        guard id.kind == .listener else { return end.refuse(404) }
        if let revocation = revocations[id] { return refuse(end, revocation) }
        let contact = Contact(client: end, key: webSocketKey, payload: payload)
        wakeUps[id, default: 0] += 1
        guard wakeUps[id, default: 0] <= Self.mostWakeUps || fault == .neverLimits else { return end.refuse(429) }
        if let listener = listeners[id] { return ring(listener, contact) }
        guard fault != .holdsNothing else { return end.refuse(404) }
        held[id, default: []].append(contact)
        end.schedule(in: Self.hold) { [self] in
            guard held.removeValue(forKey: id) != nil else { return }
            end.refuse(fault == .absentIsGone ? 410 : 404)
        }
    }

    private func refuse(_ end: FaultyEnd, _ revocation: (key: ContactPublicKey, signature: ContactSignature)) {
        guard fault != .unprovenRevocation else { return end.refuse(410) }
        end.refuse(
            410,
            "\(TunnelPath.contactKeyHeader): \(Base64URL.encode(revocation.key.bytes))\r\n"
                + "\(TunnelPath.contactGoneHeader): \(Base64URL.encode(revocation.signature.bytes))\r\n"
        )
    }

    private func ring(_ listener: FaultyEnd, _ contact: Contact) {
        guard let tunnel = TunnelID(bytes: (0..<TunnelID.length).map { _ in UInt8.random(in: 0...255) }),
            let routing = RoutingID(bytes: [0, 1, 2])
        else { return }
        let number = UInt32.random(in: 0 ... .max)
        ringing[number] = contact.client
        let signal = "\(TunnelPath.signalConnectionHeader): true\r\n"
        contact.client.accept(contact.key, signal)
        contact.client.wait(asContactFor: routing.hex + tunnel.hex)
        var bytes = contact.payload.bytes
        if fault == .changesPayload { bytes[0] ^= 1 }
        guard let payload = ClientPayload(bytes: bytes) else { return }
        listener.send(ListenMessage.wake(number: number, routing, tunnel, payload, seconds: 120).encoded)
    }

    func forget(_ end: FaultyEnd) {
        for (contact, value) in listeners where value === end { listeners[contact] = nil }
        for (number, value) in ringing where value === end { ringing[number] = nil }
    }
}

@available(*, unavailable)
extension FaultyContacts: Sendable {}
