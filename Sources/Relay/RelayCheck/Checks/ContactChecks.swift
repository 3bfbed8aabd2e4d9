// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives
internal import NIOCore

/// Checks of contacts: a client wakes a linked phone through the relay.
///
/// Each check has its own contact ID, because a relay limits the wake-ups of one.
extension CheckRun {
    /// Number of wake-ups without a refusal after which there seems to be no limit.
    private static let unlimited = 10
    /// Time in which a relay that does not wait for the phone answers a contact.
    private static let promptness = TimeAmount.milliseconds(300)

    /// Sends a message before the phone joins, and one each way afterwards.
    func contactWake() async throws(ProbeError) -> CheckOutcome {
        let listener = try await listener()
        let sent = try samplePayload(ClientPayload.maximumLength)
        let answer = try await ask(contactRequest(listener.key, sent))
        for finding in [Self.upgrade(answer.response), Self.accept(answer), Self.subprotocol(answer.response)] {
            if case .differs = finding { return finding }
        }
        let signals = answer.response.values(of: TunnelPath.signalConnectionHeader)
        guard !signals.isEmpty else { return .differs("101 without \(TunnelPath.signalConnectionHeader)") }
        let client = answer.socket
        let early = Self.sample(81, seed: 4)
        try await client.send(.binary, early, by: deadline)
        let wake = try await wake(of: listener)
        guard wake.payload == sent else { return .differs("the payload arrived changed") }
        let joined = try await ask(ProbeRequest(wake.path.text))
        guard joined.response.status == 101 else {
            return .differs("the phone's /cable/connect was answered \(joined.response.summary)")
        }
        let last = min(deadline, .now() + TimeAmount(options.reactionTimeout(of: .contactWake)))
        guard let signal = try await client.eventIfAny(by: last) else { return .differs("no byte 00 for the client") }
        guard signal == .message([0]) else { return .differs("\(signal.name) instead of the byte 00 for the client") }
        let phone = joined.socket
        guard let first = try await phone.eventIfAny(by: last) else {
            return .differs("a message sent before the phone joined did not arrive")
        }
        if let difference = difference(first, early) {
            return .differs("a message sent before the phone joined: \(difference)")
        }
        let reply = Self.sample(300, seed: 5)
        try await phone.send(.binary, reply, by: deadline)
        if let difference = difference(try await client.nextEvent(by: deadline), reply) {
            return .differs("phone to client: \(difference)")
        }
        return .ok("\(ClientPayload.maximumLength) bytes of payload, then messages both ways")
    }

    /// Contacts a phone that connects only afterwards, as phones do whose connection was just lost.
    func contactHeld() async throws(ProbeError) -> CheckOutcome {
        if case .failure(let error) = listening { throw error }
        let key = ContactKey()
        let sent = try samplePayload()
        let request = contactRequest(key, sent)
        let pending = try await send(request)
        do throws(ProbeError) {
            let last = NIODeadline.now() + Self.promptness
            let early = try await pending.socket.nextTimed(by: min(last, deadline), ProbeResponse.take(from:)).value
            return .differs("\(early.summary) before the phone connected")
        } catch {
            guard error == .timedOut else { throw error }
        }
        let listener = try await listener(key)
        let answer = try await answer(to: request, pending)
        guard answer.response.status == 101 else { return .differs(answer.response.summary) }
        let wake = try await wake(of: listener)
        guard wake.payload == sent else { return .differs("the payload arrived changed") }
        return .ok("delivered when the phone connected")
    }

    func contactNoPhone() async throws(ProbeError) -> CheckOutcome {
        if case .failure(let error) = listening { throw error }
        let request = contactRequest(ContactKey(), try samplePayload())
        let start = NIODeadline.now()
        deadline = max(deadline, start + TimeAmount(options.reactionTimeout(of: .contactNoPhone)))
        let response = try await ask(request).response
        guard response.status == 404 else { return .differs(response.summary) }
        return .ok("404 after \((NIODeadline.now() - start).milliseconds)")
    }

    func contactDeclined() async throws(ProbeError) -> CheckOutcome {
        let listener = try await listener()
        let client = try await contact(listener, try samplePayload())
        let wake = try await wake(of: listener)
        try await say(.decline(number: wake.number), over: listener.socket)
        let last = NIODeadline.now() + TimeAmount(options.reactionTimeout(of: .contactDeclined))
        let event = try await client.nextEvent(by: last)
        return event == .close(1013) ? .ok(event.name) : .differs(event.name)
    }

    func contactRevoked() async throws(ProbeError) -> CheckOutcome {
        let listener = try await listener()
        let statement = ContactStatement.gone(host: contactHost, listener.key.publicKey.contactID)
        try await say(.gone(listener.key.sign(statement)), over: listener.socket)
        // The relay closes the connection when it has stored the revocation. Without that, the contact may be too early.
        _ = try? await listener.socket.eventIfAny(by: min(deadline, .now() + .seconds(2)))
        let response = try await ask(contactRequest(listener.key, try samplePayload())).response
        guard response.status == 410 else { return .differs(response.summary) }
        func decoded(_ name: String, _ count: Int) -> [UInt8] {
            response.values(of: name).first.flatMap { Base64URL.decode($0, maximumLength: count) } ?? []
        }
        guard
            let key = ContactPublicKey(bytes: decoded(TunnelPath.contactKeyHeader, ContactPublicKey.length)),
            let proof = ContactSignature(bytes: decoded(TunnelPath.contactGoneHeader, ContactSignature.length))
        else { return .differs("410 without the phone's key and signature") }
        guard key == listener.key.publicKey, key.verifies(proof, of: statement) else {
            return .differs("410 with another key or a wrong signature")
        }
        return .ok("410 with the phone's signature")
    }

    func contactLimit() async throws(ProbeError) -> CheckOutcome {
        let listener = try await listener()
        let request = contactRequest(listener.key, try samplePayload())
        for number in 0..<Self.unlimited {
            let answer = try await answer(to: request, try await send(request), expects: 429)
            if answer.response.status == 429 { return .ok("429 after \(number)") }
            guard answer.response.status == 101 else { return .differs(answer.response.summary) }
            await answer.socket.close()
        }
        return .differs("\(Self.unlimited) wake-ups at once")
    }
}
