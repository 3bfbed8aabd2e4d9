// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

// Deadlines and the end of a connection.
extension RelayConnection {
    /// Sends a close frame and closes the connection, because the tunnel has ended.
    ///
    /// A client that has no response gets `refusal` instead.
    func closeTunnel(_ code: CloseCode?, _ refusal: UpgradeRefusal? = nil) {
        if case .contacting = role { return refuse(refusal ?? .contactUnreachable) }
        guard isOpen else { return }
        finish(ServerFrame.close(code))
    }

    /// Closes the socket at once, without a close frame, and leaves the tunnel.
    func close() {
        if case .closed = role { return }
        let end = leaveRole()
        role = .closed
        deadline = nil
        socket.release()
        countBytes()
        loop.remove(self)
        Glibc.close(socket.descriptor)
        if let admitted { loop.context.admission.removeConnection(admitted) }
        admitted = nil
        guard let end else { return }
        let registry = loop.context.registry
        loop.carryOut(registry.leave(end.key, end.side, bytes: end.sentCost, now: loop.now))
    }

    /// Ends the role of the connection, and returns the end of a tunnel that it was.
    func leaveRole() -> TunnelEnd? {
        if case .listening(let phone) = role { stopListening(phone) }
        let end = tunnelEnd
        end?.end(in: budget)
        return end
    }

    /// Ends the tunnel, or closes a connection without one, because the relay is shutting down.
    func shutDown() {
        switch role {
        case .contacting, .tunnel: endTunnel(.shutdown)
        case .listening: closeTunnel(.serviceRestart)
        case .proxyHeader, .head, .moving, .closing, .closed: if tunnelEnd == nil { close() }
        }
    }

    /// Closes a phone that listens and refuses a held request, because another relay can serve them.
    func drain() {
        switch role {
        case .contacting, .listening: shutDown()
        case .proxyHeader, .head, .moving, .tunnel, .closing, .closed: break
        }
    }

    /// The time of the next check if nothing happens before.
    ///
    /// Everything that may need an earlier one calls ``Reactor/checkSoon(_:)``.
    var nextCheck: NIODeadline {
        guard let end = webSocket, socket.bufferedBytes == 0, !isPaused, end.remainingPongs == limits.pongsPerSecond
        else { return loop.now }
        if case .tunnel(let tunnel) = role, tunnel.hasEarlyFrames { return loop.now }
        var next = end.keepalive.nextStep(interval: pingInterval)
        if let deadline { next = min(next, deadline) }
        if case .listening(let phone) = role, let pending = phone.pendingPushContact {
            next = min(next, pending.deadline)
        }
        return next
    }

    private var pingInterval: TimeAmount {
        if case .listening = role { limits.listenerPingInterval } else { limits.pingInterval }
    }

    /// Checks the connection's deadlines; called about once a second while anything happens.
    func checkDeadlines() {
        if let deadline, deadline <= loop.now { return deadlinePassed() }
        if let end = webSocket {
            end.remainingPongs = limits.pongsPerSecond
            answerPing(of: end)
            checkKeepalive(of: end)
            checkPushContact()
        }
        // These bytes arrived together with a held request.
        if isClosingInEarlyData { processKeptCiphertext() }
        // The beginning of a frame that was buffered while the budget had room is forwarded.
        if socket.pendingInput.count > bufferedPayload + FrameHeader.maximumLength { readPendingFrames() }
        // Another connection may have released bytes of the common budget, so this may resume reading.
        update()
    }

    private func deadlinePassed() {
        switch role {
        case .head:
            refuse(.headTimeout)
            // A peer that stalls does not close in response, so the relay does not wait for it much longer.
            deadline = loop.now
        case .proxyHeader:
            loop.context.admission.recordRejection(.proxy)
            close()
        case .listening(let phone): closeTunnel(phone.id == nil ? .policyViolation : .serviceRestart)
        case .tunnel, .moving, .contacting, .closing, .closed: close()
        }
    }

    /// Pings an end that has sent nothing for some time.
    ///
    /// While an end is paused, the relay receives nothing from it, so that time does not count.
    private func checkKeepalive(of end: WebSocketEnd) {
        if end.hasReceived || isPaused {
            (end.hasReceived, end.keepalive) = (false, KeepaliveState(since: loop.now))
            return
        }
        switch end.keepalive.next(now: loop.now, interval: pingInterval, misses: limits.pingMisses) {
        case .wait: break
        case .ping: if socket.pendingOutput == 0 { write(ServerFrame.ping) }
        case .giveUp:
            if let tunnelEnd { endTunnel(.unresponsive(tunnelEnd.side)) } else { closeTunnel(.goingAway) }
        }
    }
}
