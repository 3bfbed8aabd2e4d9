// SPDX-License-Identifier: Apache-2.0

// A client that contacts a phone, from its request until the phone has joined.
extension RelayConnection {
    /// Sends the response, because the phone has been woken, and continues with what the client has sent since.
    ///
    /// The order can arrive after the phone has joined, and after the connection has closed.
    func acceptContact() {
        respondToContact()
        if isOpen { processPendingInput() }
        update()
    }

    private func respondToContact() {
        guard case .contacting(let contact) = role else { return }
        role = .tunnel(contact.end)
        endHold()
        // The end of the handshake may have arrived long ago, but the socket was not read.
        startHandshakeDeadline()
        contact.end.keepalive = KeepaliveState(since: loop.now)
        write(contact.request.response(routing: nil))
    }

    /// Returns the counted client, which its message for the push server outlives.
    func takeHold() -> AdmittedConnection? { admitted?.takingHold() }

    /// Stops counting the client as one that waits for a response.
    private func endHold() {
        guard var connection = admitted else { return }
        loop.context.admission.endHold(of: &connection)
        admitted = connection
    }

    /// Responds to the client, if it has no response, and signals that the phone has joined, if it has asked for it.
    ///
    /// The frame precedes everything from the phone, and does not count as data of the tunnel.
    func announcePhone() {
        // The loop's buffers may be in use, so what the client has sent since its request is processed later.
        if case .contacting = role, let id { loop.mailbox.post(.contact(id, .accept)) }
        respondToContact()
        guard case .tunnel(let end) = role, end.awaitsSignal else { return }
        end.awaitsSignal = false
        write(ServerFrame.binary([0]))
    }
}

/// The state of a client that contacts a phone and has no response.
final class ContactRequestState {
    let request: UpgradeRequest
    /// The end of the tunnel that the client is after its response.
    let end: TunnelEnd

    init(_ request: UpgradeRequest, _ end: TunnelEnd) {
        (self.request, self.end) = (request, end)
        end.awaitsSignal = request.signalsConnection
    }
}
