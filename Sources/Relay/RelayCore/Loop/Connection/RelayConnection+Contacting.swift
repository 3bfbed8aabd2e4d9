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
        guard case .contacting = phase, let contactRequest else { return }
        phase = .waiting
        // The end of the handshake may have arrived long ago, but the socket was not read.
        startHandshakeDeadline()
        keepalive = KeepaliveState(since: loop.now)
        write(contactRequest.request.response(routing: nil))
    }

    /// Signals to the client, if it has asked for it, that the phone has joined.
    ///
    /// The frame precedes everything from the phone, and does not count as data of the tunnel.
    func announcePhone() {
        // The loop's buffers may be in use, so what the client has sent since its request is processed later.
        if case .contacting = phase, let id { loop.mailbox.post(.contact(id, .accept)) }
        respondToContact()
        guard case .waiting = phase, let contactRequest else { return }
        self.contactRequest = nil
        if contactRequest.request.signalsConnection { write(ServerFrame.binary([0])) }
    }
}

/// The request of a client that contacts a phone, in an object, because few connections have one.
final class ContactRequestState {
    let request: UpgradeRequest

    init(_ request: UpgradeRequest) { self.request = request }
}
