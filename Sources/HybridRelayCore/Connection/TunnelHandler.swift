// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore

/// The handler of one connection, from its first byte to its last: request head, upgrade, frames, close.
///
/// It is the only handler after TLS. Frames go directly from one end's handler to the other's. The two may run on
/// different event loops, so each reaches the other through ``TunnelMember/perform(_:)``.
///
/// *Backpressure.* The handler counts the bytes that it has forwarded and that the other end's socket has not yet
/// accepted. If they reach a window, this end is not read. The other end returns credit when its socket accepts bytes.
/// The bytes of all tunnels together are counted, too, until the receiving socket has accepted them or is closed, even
/// if the sender has left. Before a client has joined, the window is `limits.earlyBytes`. If a paused end closes its
/// connection, this is still noticed, because NIO then reads its socket to the end. The exception is an end with more
/// unsent bytes than the kernel's buffers hold: its FIN waits behind them, and a deadline ends that tunnel.
///
/// *Closing.* The end of a tunnel is reported to the registry, which closes both connections. Each handler writes the
/// close frame and shuts down its socket's output. It drops input until the peer closes, so that no reset overtakes the
/// close frame. `limits.closeTimeout` bounds this wait.
final class TunnelHandler {
    private enum Phase {
        /// The request head is incomplete.
        case head
        /// A phone whose client has not joined.
        case waiting
        /// Both ends are connected.
        case paired(TunnelMember)
        /// The close frame or refusal has been written, and input is dropped.
        case closing
    }

    /// Number of bytes in flight to the other end at which reading from this end stops.
    private static let window = 128 << 10
    /// Minimum credit that is returned, in bytes, so that not every message wakes the other event loop.
    private static let creditLot = 32 << 10

    private let registry: TunnelRegistry
    private let admission: AdmissionControl
    private let limits: RelayLimits
    private let timers: ConnectionTimers
    /// Index in the timers; no other type uses it.
    var timerIndex: Int?
    /// The source of the connection, if it is counted.
    private let source: SourcePrefix?
    private var context: ChannelHandlerContext?
    private var phase = Phase.head
    private var deadline: NIODeadline?

    private var head: RequestHeadReader
    // The run-time check of exclusive access costs as much as a short message. It is not needed, because the reader
    // calls no other code.
    @exclusivity(unchecked) private var frames: FrameReader
    private var tunnel: (key: TunnelKey, side: TunnelSide)?

    /// Frames of a phone whose client has not joined yet.
    private var earlyFrames = ByteBuffer()
    /// Payload of the ping to be answered; a later ping replaces it.
    private var pendingPong: [UInt8]?
    /// Number of bytes forwarded to the other end and not yet accepted by its socket.
    private var inFlight = 0
    /// Number of bytes received from the other end for which no credit has been returned yet.
    private var uncredited = 0
    /// True if the channel requested a read while this end was paused.
    private var isReadHeld = false
    private var sentCost = 0
    private var receivedCost = 0
    private var hasCarriedData = false
    private var hasBulkLimit = false

    /// True if bytes have been received since the last sweep.
    private var hasReceived = false
    private var keepalive = KeepaliveState(since: .now())
    /// Number of pings that may still be answered before the next sweep.
    private var remainingPongs: Int

    init(
        registry: TunnelRegistry,
        admission: AdmissionControl,
        limits: RelayLimits,
        timers: ConnectionTimers,
        source: SourcePrefix? = nil
    ) {
        self.registry = registry
        self.admission = admission
        self.source = source
        remainingPongs = limits.pongsPerSecond
        self.limits = limits
        self.timers = timers
        head = RequestHeadReader(maximumLength: limits.headBytes)
        frames = FrameReader(maximumMessage: limits.messageBytes)
    }
}

@available(*, unavailable)
extension TunnelHandler: Sendable {}

// MARK: - Channel

extension TunnelHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        deadline = .now() + limits.headTime
        timers.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connectionClosed()
    }

    func channelInactive(context: ChannelHandlerContext) {
        connectionClosed()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        hasReceived = true
        if bytes.readableBytes >= BulkReceiveLimit.threshold { limitBulk() }
        switch phase {
        case .head: readHead(bytes, context: context)
        case .waiting, .paired: readFrames(bytes)
        case .closing: break
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            giveCredit()
            answerPing()
        }
        context.fireChannelWritabilityChanged()
    }

    func read(context: ChannelHandlerContext) {
        if isPaused {
            isReadHeld = true
        } else {
            context.read()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A failed socket or TLS session means that the end has left. channelInactive ends the tunnel.
        context.close(promise: nil)
    }

    private func connectionClosed() {
        guard context != nil else { return }
        context = nil
        phase = .closing
        deadline = nil
        dropEarlyFrames()
        registry.budget.add(-uncredited)
        uncredited = 0
        timers.remove(self)
        admission.removeConnection(from: source)
        if let tunnel { registry.leave(tunnel.key, tunnel.side, bytes: sentCost) }
    }
}

// MARK: - Request

extension TunnelHandler {
    private func readHead(_ bytes: ByteBuffer, context: ChannelHandlerContext) {
        do throws(UpgradeRefusal) {
            guard let (request, rest) = try head.receive(bytes) else { return }
            head = RequestHeadReader(maximumLength: 0)
            try upgrade(request, context: context)
            if rest.readableBytes > 0 { readFrames(rest) }
        } catch {
            refuse(error)
        }
    }

    private func upgrade(_ request: UpgradeRequest, context: ChannelHandlerContext) throws(UpgradeRefusal) {
        try admission.admit(request, from: source, now: .now())
        let member = TunnelMember(self, on: context.eventLoop)
        let result = try registry.upgrade(member, for: request)
        tunnel = (result.key, result.side)
        phase = result.phone.map(Phase.paired) ?? .waiting
        context.writeAndFlush(wrapOutboundOut(result.response), promise: nil)
        result.phone?.perform { $0.pair(with: member) }
        deadline = nil
    }

    private func refuse(_ refusal: UpgradeRefusal) {
        admission.recordRefusal(refusal)
        finish(ByteBuffer(string: refusal.response))
    }
}

// MARK: - Frames

extension TunnelHandler {
    private func readFrames(_ bytes: ByteBuffer) {
        frames.append(bytes)
        do throws(FrameViolation) {
            while isOpen, let event = try frames.next(reusing: &timers.sharedBuffer) { handle(event) }
        } catch {
            if let tunnel { registry.end(tunnel.key, .violated(by: tunnel.side, error)) }
        }
        answerPing()
    }

    private var isOpen: Bool {
        switch phase {
        case .waiting, .paired: true
        case .head, .closing: false
        }
    }

    private func handle(_ event: FrameEvent) {
        guard let tunnel else { return }
        sentCost += event.cost
        guard sentCost + receivedCost <= limits.tunnelBytes else {
            registry.end(tunnel.key, .exhausted)
            return
        }
        switch event {
        case .data(let frames, let cost): forward(frames, cost: cost)
        case .ping(let payload): pendingPong = payload
        case .pong: break
        case .close(let code):
            if case .waiting = phase {
                registry.end(tunnel.key, .abandoned)
            } else {
                registry.end(tunnel.key, .closed(by: tunnel.side, code: code))
            }
        }
    }

    private func forward(_ frames: ByteBuffer, cost: Int) {
        hasCarriedData = true
        inFlight += frames.readableBytes
        registry.budget.add(frames.readableBytes)
        if case .paired(let other) = phase {
            if let other = other.localHandler {
                other.deliver(frames, cost: cost)
            } else {
                other.perform { $0.deliver(frames, cost: cost) }
            }
        } else {
            earlyFrames.writeImmutableBuffer(frames)
        }
    }

    /// Connects a waiting phone with its client, which receives the early frames.
    func pair(with client: TunnelMember) {
        guard case .waiting = phase else { return }
        phase = .paired(client)
        hasCarriedData = true
        if earlyFrames.readableBytes > 0 {
            let frames = earlyFrames
            let cost = sentCost
            earlyFrames = ByteBuffer()
            client.perform { $0.deliver(frames, cost: cost) }
        }
        readIfAllowed()
    }

    /// Writes frames from the other end.
    ///
    /// They count as held until this end's socket has accepted them.
    func deliver(_ frames: ByteBuffer, cost: Int) {
        guard case .paired = phase, let context else {
            registry.budget.add(-frames.readableBytes)
            return
        }
        hasCarriedData = true
        receivedCost += cost
        uncredited += frames.readableBytes
        if frames.readableBytes >= BulkReceiveLimit.threshold { limitBulk() }
        context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
        if isCreditDue, context.channel.isWritable { giveCredit() }
    }

    /// Answers the latest ping if the socket is writable.
    ///
    /// So no answers are queued for an end that does not read.
    private func answerPing() {
        guard isOpen, remainingPongs > 0, let payload = pendingPong, let context, context.channel.isWritable else {
            return
        }
        pendingPong = nil
        remainingPongs -= 1
        context.writeAndFlush(wrapOutboundOut(ServerFrame.pong(payload)), promise: nil)
    }
}

// MARK: - Backpressure

extension TunnelHandler {
    private var isPaused: Bool {
        switch phase {
        case .waiting: inFlight >= limits.earlyBytes || inFlight > 0 && registry.budget.isExhausted
        case .paired: inFlight >= Self.window || inFlight > 0 && registry.budget.isExhausted
        case .head, .closing: false
        }
    }

    /// True if credit is due; small amounts wait, because otherwise each message would wake the other event loop.
    private var isCreditDue: Bool { uncredited >= Self.creditLot || uncredited > 0 && registry.budget.isExhausted }

    /// Returns credit to the other end for the frames that this end's socket has accepted.
    private func giveCredit(anyAmount: Bool = false) {
        guard isCreditDue || anyAmount && uncredited > 0 else { return }
        let credit = uncredited
        uncredited = 0
        registry.budget.add(-credit)
        if case .paired(let other) = phase { other.perform { $0.takeCredit(credit) } }
    }

    private func takeCredit(_ bytes: Int) {
        inFlight -= bytes
        readIfAllowed()
    }

    /// Drops the phone's frames that are waiting for a client.
    private func dropEarlyFrames() {
        guard earlyFrames.readableBytes > 0 else { return }
        registry.budget.add(-earlyFrames.readableBytes)
        earlyFrames = ByteBuffer()
    }

    private func limitBulk() {
        guard !hasBulkLimit, let options = context?.channel.syncOptions else { return }
        hasBulkLimit = true
        BulkReceiveLimit.apply(to: options)
    }

    private func readIfAllowed() {
        guard isReadHeld, !isPaused else { return }
        isReadHeld = false
        context?.read()
    }
}

// MARK: - Closing

extension TunnelHandler {
    /// Sends a close frame and closes the connection, because the tunnel has ended.
    func closeTunnel(_ code: CloseCode?) {
        guard isOpen else { return }
        finish(ServerFrame.close(code))
    }

    /// Writes the last bytes, shuts down the socket's output and waits for the peer to close.
    private func finish(_ lastBytes: ByteBuffer) {
        guard let context else { return }
        phase = .closing
        dropEarlyFrames()
        deadline = .now() + limits.closeTimeout
        readIfAllowed()
        context.writeAndFlush(wrapOutboundOut(lastBytes), promise: nil)
        context.close(mode: .output, promise: nil)
    }

    /// Closes the connection without a close frame.
    ///
    /// TLS may take a moment for its close_notify. Input that arrives meanwhile is dropped.
    func closeConnection() {
        phase = .closing
        context?.close(promise: nil)
    }

    /// Ends the tunnel, or closes a connection without one, because the relay is shutting down.
    func shutDown() {
        if let tunnel {
            registry.end(tunnel.key, .shutdown)
        } else {
            closeConnection()
        }
    }

    /// Checks the connection's deadlines; called about once a second.
    func checkDeadlines(now: NIODeadline) {
        if let deadline, deadline <= now { return deadlinePassed(now: now) }
        guard isOpen else { return }
        remainingPongs = limits.pongsPerSecond
        answerPing()
        if context?.channel.isWritable == true { giveCredit(anyAmount: true) }
        // Another tunnel may have released bytes of the common budget.
        readIfAllowed()
        checkKeepalive(now: now)
    }

    private func deadlinePassed(now: NIODeadline) {
        switch phase {
        case .head:
            refuse(.headTimeout)
            // A peer that stalls in the TLS handshake never receives the response, so the relay does not wait until the
            // peer closes.
            deadline = now
        case .waiting, .paired, .closing: closeConnection()
        }
    }

    /// Pings an end that has sent nothing for some time.
    ///
    /// While an end is paused, the relay receives nothing from it, so that time does not count.
    private func checkKeepalive(now: NIODeadline) {
        if hasReceived || isReadHeld {
            (hasReceived, keepalive) = (false, KeepaliveState(since: now))
            return
        }
        switch keepalive.next(now: now, limits: limits) {
        case .wait: break
        case .ping:
            guard let context, context.channel.isWritable else { return }
            context.writeAndFlush(wrapOutboundOut(ServerFrame.ping), promise: nil)
        case .giveUp:
            if let tunnel { registry.end(tunnel.key, .unresponsive(tunnel.side)) }
        }
    }

    /// Returns the tunnel's key if it carried data since the last call.
    ///
    /// Only the phone's handler reports it.
    func takeActivity() -> TunnelKey? {
        guard hasCarriedData, let tunnel, tunnel.side == .phone else { return nil }
        hasCarriedData = false
        return tunnel.key
    }
}

/// Socket options for a connection with large messages, so that the relay buffers little for it.
private enum BulkReceiveLimit {
    /// Minimum number of bytes, sent or received at once, to which the limit applies.
    ///
    /// No sign-in message is this large, and setting socket options on every connection would cost more than a message.
    static let threshold = 8 << 10
    /// Numbers of unsent bytes below which the socket is writable again (`low`) and above which it is not (`high`).
    private static let unsent = ChannelOptions.Types.WriteBufferWaterMark(low: 4 << 10, high: 8 << 10)

    /// Limits reads to one instead of four before the end can be paused, and makes the socket report early that it is
    /// full.
    static func apply(to options: any NIOSynchronousChannelOptions) {
        // This fails if the socket is closed, which is harmless.
        try? options.setOption(.maxMessagesPerRead, value: 1)
        try? options.setOption(.writeBufferWaterMark, value: unsent)
    }
}
