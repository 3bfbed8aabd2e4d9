// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

// Deadlines and the end of a connection.
extension RelayConnection {
    /// Sends a close frame and closes the connection, because the tunnel has ended.
    ///
    /// A client that has no response gets `refusal` instead.
    func closeTunnel(_ code: CloseCode?, _ refusal: UpgradeRefusal? = nil) {
        if case .contacting = phase { return refuse(refusal ?? .contactUnreachable) }
        guard isOpen else { return }
        finish(ServerFrame.close(code))
    }

    /// Closes the socket at once, without a close frame, and leaves the tunnel.
    func close() {
        if case .closed = phase { return }
        if listener != nil { stopListening() }
        contactRequest = nil
        phase = .closed
        deadline = nil
        if !isOutputLast, pendingOutput == 0 { _ = try? tls?.sendCloseNotify() }
        (tls, move) = (nil, nil)
        (pendingInput, earlyFrames, output, outputStart, pendingPong) = ([], [], [], 0, nil)
        count()
        loop.remove(self)
        Glibc.close(descriptor)
        if let admitted { loop.context.admission.removeConnection(admitted) }
        admitted = nil
        guard let tunnel else { return }
        let registry = loop.context.registry
        loop.carryOut(registry.leave(tunnel.key, tunnel.side, bytes: sentCost, now: loop.now))
    }

    /// Ends the tunnel, or closes a connection without one, because the relay is shutting down.
    func shutDown() {
        switch phase {
        case .contacting, .waiting, .paired: endTunnel(.shutdown)
        case .listening: closeTunnel(.serviceRestart)
        case .proxyHeader, .head, .moving, .closing, .closed: if tunnel == nil { close() }
        }
    }

    /// Closes a phone that listens and refuses a held request, because another relay can serve them.
    func drain() {
        switch phase {
        case .contacting, .listening: shutDown()
        case .proxyHeader, .head, .moving, .waiting, .paired, .closing, .closed: break
        }
    }

    /// The time of the next check if nothing happens before.
    ///
    /// Everything that may need an earlier one calls ``Reactor/checkSoon(_:)``.
    var nextCheck: NIODeadline {
        guard isOpen, bufferedBytes == 0, !isPaused, remainingPongs == limits.pongsPerSecond else { return loop.now }
        var next = keepalive.nextStep(interval: pingInterval)
        if let deadline { next = min(next, deadline) }
        if let pending = listener?.pendingPushContact { next = min(next, pending.deadline) }
        return next
    }

    private var pingInterval: TimeAmount { listener == nil ? limits.pingInterval : limits.listenerPingInterval }

    /// Checks the connection's deadlines; called about once a second while anything happens.
    func checkDeadlines() {
        if let deadline, deadline <= loop.now { return deadlinePassed() }
        if isOpen {
            remainingPongs = limits.pongsPerSecond
            answerPing()
            checkKeepalive()
            checkPushContact()
        }
        // These bytes arrived together with a held request.
        if isClosingInEarlyData { processKeptCiphertext() }
        if isOpen, pendingInput.count > bufferedPayload + FrameHeader.maximumLength { forwardIncompleteFrame() }
        // Another connection may have released bytes of the common budget, so this may resume reading.
        update()
    }

    private func deadlinePassed() {
        switch phase {
        case .head:
            refuse(.headTimeout)
            // A peer that stalls does not close in response, so the relay does not wait for it much longer.
            deadline = loop.now
        case .proxyHeader:
            loop.context.admission.recordRejection(.proxy)
            close()
        case .listening: closeTunnel(listener?.id == nil ? .policyViolation : .serviceRestart)
        case .waiting, .paired, .moving, .contacting, .closing, .closed: close()
        }
    }

    /// Pings an end that has sent nothing for some time.
    ///
    /// While an end is paused, the relay receives nothing from it, so that time does not count.
    private func checkKeepalive() {
        if hasReceived || isPaused {
            (hasReceived, keepalive) = (false, KeepaliveState(since: loop.now))
            return
        }
        switch keepalive.next(now: loop.now, interval: pingInterval, misses: limits.pingMisses) {
        case .wait: break
        case .ping: if output.isEmpty { write(ServerFrame.ping) }
        case .giveUp:
            if let tunnel { endTunnel(.unresponsive(tunnel.side)) } else { closeTunnel(.goingAway) }
        }
    }
}

/// Time since an end last sent anything, and the pings sent since then.
struct KeepaliveState {
    enum Step {
        case wait
        case ping
        /// No ping was answered.
        case giveUp
    }

    private let lastReceived: NIODeadline
    private var pings = 0

    /// Creates the state of an end that sent something at this time.
    init(since lastReceived: NIODeadline) { self.lastReceived = lastReceived }

    /// The time of the next step other than ``Step/wait``.
    func nextStep(interval: TimeAmount) -> NIODeadline { lastReceived + interval * (pings + 1) }

    /// Returns the next step; if it is a ping, the ping counts as sent.
    mutating func next(now: NIODeadline, interval: TimeAmount, misses: Int) -> Step {
        guard now >= nextStep(interval: interval) else { return .wait }
        guard pings < misses else { return .giveUp }
        pings += 1
        return .ping
    }
}
