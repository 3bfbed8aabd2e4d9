// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore

/// A phone that waits for wake-ups, as this project's relay offers it.
struct ProbeListener: Sendable {
    let socket: ProbeSocket
    let key: ContactKey
}

/// A wake-up that a phone has received.
struct ProbeWakeUp: Sendable {
    let number: UInt32
    /// The path with which the phone joins the client.
    let path: TunnelPath
    let payload: ClientPayload
}

/// A request for `/cable/listen` that the relay has accepted, before the proof.
struct ProbeListening: Sendable {
    let socket: ProbeSocket
    let challenge: ListenChallenge
}

extension CheckRun {
    /// The host that phones name in their signatures.
    var contactHost: String { options.contactHost ?? relay.host }

    /// Opens a connection for wake-ups and returns the relay's challenge.
    ///
    /// - Throws: ``ProbeError/notOffered(_:)`` if the relay serves no linked phones.
    func openListening(_ contact: ContactID) async throws(ProbeError) -> ProbeListening {
        var request = ProbeRequest(TunnelPath.listen(contact).text)
        request.subprotocol = ListenMessage.subprotocol
        let answer = try await ask(request)
        let response = answer.response
        if (200...499).contains(response.status) { throw .notOffered(response.status) }
        if case .differs(let found) = Self.upgrade(response) { throw .malformed("/cable/listen was answered \(found)") }
        guard response.values(of: "Sec-WebSocket-Protocol") == [ListenMessage.subprotocol] else {
            throw .malformed("/cable/listen did not choose \(ListenMessage.subprotocol)")
        }
        let message = try await listenMessage(from: answer.socket)
        guard case .hello(let challenge, _) = message else { throw .malformed("no hello on /cable/listen") }
        return ProbeListening(socket: answer.socket, challenge: challenge)
    }

    /// Opens a connection for wake-ups and proves its contact ID.
    func provenListener(_ key: ContactKey) async throws(ProbeError) -> ProbeListener {
        let contact = key.publicKey.contactID
        let opened = try await openListening(contact)
        let signature = key.sign(.listen(host: contactHost, opened.challenge, contact))
        try await say(.own(key.publicKey, signature), over: opened.socket)
        guard try await listenMessage(from: opened.socket) == .ok else {
            throw .malformed("the relay did not confirm the proof with ok")
        }
        return ProbeListener(socket: opened.socket, key: key)
    }

    /// Returns a phone that listens, for a check of something else.
    func listener(_ key: ContactKey = ContactKey()) async throws(ProbeError) -> ProbeListener {
        if case .failure(let error) = listening { throw error }
        do throws(ProbeError) {
            return try await provenListener(key)
        } catch {
            throw error.asPremise(after: options.timeout, ProbeError.noListener)
        }
    }

    /// Returns the next message of the relay on a connection for wake-ups.
    func listenMessage(from socket: ProbeSocket) async throws(ProbeError) -> ListenMessage {
        let event = try await socket.nextEvent(by: deadline)
        guard case .message(let bytes) = event else { throw .malformed("\(event.name) on /cable/listen") }
        do {
            return try ListenMessage(parsing: bytes)
        } catch {
            throw .malformed("a message of \(bytes.count) bytes on /cable/listen: \(error)")
        }
    }

    func say(_ message: ListenMessage, over socket: ProbeSocket) async throws(ProbeError) {
        try await socket.send(.binary, message.encoded, by: deadline)
    }

    /// Waits for a phone's wake-up.
    func wake(of listener: ProbeListener) async throws(ProbeError) -> ProbeWakeUp {
        let message = try await listenMessage(from: listener.socket)
        guard case .wake(let number, let routing, let tunnel, let payload, _) = message else {
            throw .malformed("the phone received another message instead of the wake-up")
        }
        return ProbeWakeUp(number: number, path: .connect(routing, tunnel), payload: payload)
    }

    /// Returns a client's request for a phone.
    func contactRequest(_ key: ContactKey, _ payload: ClientPayload) -> ProbeRequest {
        var request = ProbeRequest(TunnelPath.contact(key.publicKey.contactID).text)
        request.fields = [
            (TunnelPath.clientPayloadHeader, payload.hex), (TunnelPath.signalConnectionHeader, "true"),
        ]
        return request
    }

    /// Contacts a phone that listens; returns the client's end.
    func contact(_ listener: ProbeListener, _ payload: ClientPayload) async throws(ProbeError) -> ProbeSocket {
        let answer = try await ask(contactRequest(listener.key, payload))
        let response = answer.response
        guard response.status == 101 else { throw .malformed("/cable/contact was answered \(response.summary)") }
        let subprotocol = Self.subprotocol(response)
        guard case .ok = subprotocol else { throw .malformed("/cable/contact: \(subprotocol.found)") }
        return answer.socket
    }

    /// Returns a payload of the given length in bytes, which the relay does not interpret.
    func samplePayload(_ count: Int = 54) throws(ProbeError) -> ClientPayload {
        guard let payload = ClientPayload(bytes: Self.sample(count, seed: 3)) else { throw .malformed("no payload") }
        return payload
    }
}
