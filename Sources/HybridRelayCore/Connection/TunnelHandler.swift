// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore

/// One connection, from its first byte to its last: request head, upgrade, frames, goodbye.
///
/// It is the only handler behind TLS. Frames go straight from one end's handler to the other's; the two may live
/// on different event loops, so whatever is for the other goes through ``TunnelMember/perform(_:)``.
///
/// *Backpressure.* What was passed on and not yet taken by the other end's socket is counted; above a window
/// this end is not read. The other end gives the credit back when its socket accepts bytes. All tunnels' bytes
/// together are counted, too, until that socket has taken them or is closed, whoever has left before. Before a client has
/// come the window is `limits.earlyBytes`. A paused end is still noticed when it hangs up: NIO reads a socket
/// to its end as soon as that is known. Only an end with more unsent bytes than the kernel's buffers hold can't
/// say so, as its FIN waits behind them; a deadline ends that tunnel.
///
/// *The end.* Whoever ends the tunnel tells the registry, which has both ends say goodbye: the close frame is
/// written, the socket's own direction is shut, and what still comes in is dropped until the other side hangs
/// up, so that no reset overtakes the close frame. `limits.farewell` bounds that.
final class TunnelHandler {
    /// What may be on its way to the other end, in bytes, before this end is not read any further.
    private static let window = 128 << 10
    /// Credit is given back in lots of this size, in bytes, to spare the event loops a wake-up per message.
    private static let creditLot = 32 << 10

    private let registry: TunnelRegistry
    private let limits: RelayLimits
    private let watch: ConnectionTimers
    /// Where the watch keeps it; the watch's own to read and write.
    var placeInWatch: Int?
    /// Where the connection comes from, if that counts.
    private let source: SourcePrefix?
    private var context: ChannelHandlerContext?
    private var phase = TunnelPhase.head
    private var deadline: NIODeadline?

    private var head: RequestHeadReader
    // Not checked for a second access at run time, which costs as much as a short message: while the reader works, it
    // calls nobody.
    @exclusivity(unchecked) private var frames: FrameReader
    private var place: (key: TunnelKey, side: TunnelSide)?

    /// Frames of a phone whose client has not come yet.
    private var early = ByteBuffer()
    /// A ping's payload that is still to be answered; a later ping replaces it.
    private var pendingPong: [UInt8]?
    /// Passed on to the other end and not taken by its socket yet, in bytes.
    private var inFlight = 0
    /// Taken from the other end and not yet credited, in bytes.
    private var owed = 0
    /// Whether the channel asked to be read while this end was paused.
    private var isReadHeld = false
    private var sentCost = 0
    private var receivedCost = 0
    private var hasCarriedData = false
    private var isBulky = false

    /// Whether anything came since the connection was last looked at.
    private var wasHeard = false
    private var silence = KeepaliveState(since: .now())
    /// Pings that may still be answered before the connection is looked at again.
    private var pongs: Int

    init(registry: TunnelRegistry, limits: RelayLimits, watch: ConnectionTimers, source: SourcePrefix? = nil) {
        self.registry = registry
        self.source = source
        pongs = limits.pongsPerSecond
        self.limits = limits
        self.watch = watch
        head = RequestHeadReader(maximumLength: limits.headBytes)
        frames = FrameReader(maximumMessage: limits.messageBytes)
    }
}

@available(*, unavailable)
extension TunnelHandler: Sendable {}

// MARK: - The channel

extension TunnelHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        deadline = .now() + limits.headTime
        watch.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        leave()
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        wasHeard = true
        if bytes.readableBytes >= BulkReceiveLimit.bulk { shortenRein() }
        switch phase {
        case .head: readHead(bytes, context: context)
        case .waiting, .paired: readFrames(bytes)
        case .leaving: break
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
        // A socket or TLS that fails is an end that went away; channelInactive tells the tunnel.
        context.close(promise: nil)
    }

    private func leave() {
        guard context != nil else { return }
        context = nil
        phase = .leaving
        deadline = nil
        dropEarly()
        registry.budget.add(-owed)
        owed = 0
        watch.remove(self)
        registry.depart(source)
        if let place { registry.leave(place.key, place.side, bytes: sentCost) }
    }
}

// MARK: - The request

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
        try registry.admit(request, from: source)
        let me = TunnelMember(self, on: context.eventLoop)
        let seat = try registry.seat(me, for: request)
        place = (seat.key, seat.side)
        phase = seat.phone.map(TunnelPhase.paired) ?? .waiting
        write(seat.response)
        seat.phone?.perform { $0.pair(with: me) }
        deadline = nil
    }

    private func refuse(_ refusal: UpgradeRefusal) {
        registry.refused(refusal)
        finish(ByteBuffer(string: refusal.response))
    }

    private func write(_ bytes: ByteBuffer) {
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }
}

// MARK: - Frames

extension TunnelHandler {
    private func readFrames(_ bytes: ByteBuffer) {
        frames.append(bytes)
        do throws(FrameViolation) {
            while isOpen, let event = try frames.next(reusing: &watch.spare) { handle(event) }
        } catch {
            if let place { registry.end(place.key, .violated(by: place.side, error)) }
        }
        answerPing()
    }

    private var isOpen: Bool {
        switch phase {
        case .waiting, .paired: true
        case .head, .leaving: false
        }
    }

    private func handle(_ event: FrameEvent) {
        guard let place else { return }
        sentCost += event.cost
        guard sentCost + receivedCost <= limits.tunnelBytes else {
            registry.end(place.key, .exhausted)
            return
        }
        switch event {
        case .data(let frames, let cost): passOn(frames, cost: cost)
        case .ping(let payload): pendingPong = payload
        case .pong: break
        case .close(let code):
            if case .waiting = phase {
                registry.end(place.key, .abandoned)
            } else {
                registry.end(place.key, .closed(by: place.side, code: code))
            }
        }
    }

    private func passOn(_ frames: ByteBuffer, cost: Int) {
        hasCarriedData = true
        inFlight += frames.readableBytes
        registry.budget.add(frames.readableBytes)
        if case .paired(let other) = phase {
            if let other = other.here {
                other.deliver(frames, cost: cost)
            } else {
                other.perform { $0.deliver(frames, cost: cost) }
            }
        } else {
            early.writeImmutableBuffer(frames)
        }
    }

    /// The client has come: it gets what the phone said meanwhile.
    func pair(with client: TunnelMember) {
        guard case .waiting = phase else { return }
        phase = .paired(client)
        hasCarriedData = true
        if early.readableBytes > 0 {
            let frames = early
            let cost = sentCost
            early = ByteBuffer()
            client.perform { $0.deliver(frames, cost: cost) }
        }
        readIfAllowed()
    }

    /// Frames from the other end, which count as held until this end's socket has taken them.
    func deliver(_ frames: ByteBuffer, cost: Int) {
        guard case .paired = phase, let context else {
            registry.budget.add(-frames.readableBytes)
            return
        }
        hasCarriedData = true
        receivedCost += cost
        owed += frames.readableBytes
        if frames.readableBytes >= BulkReceiveLimit.bulk { shortenRein() }
        context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
        if owesCredit, context.channel.isWritable { giveCredit() }
    }

    /// Answers the latest ping once the socket takes bytes; an end that does not read gets no answers queued.
    private func answerPing() {
        guard isOpen, pongs > 0, let payload = pendingPong, let context, context.channel.isWritable else { return }
        pendingPong = nil
        pongs -= 1
        context.writeAndFlush(wrapOutboundOut(ServerFrame.pong(payload)), promise: nil)
    }
}

// MARK: - Backpressure

extension TunnelHandler {
    private var isPaused: Bool {
        switch phase {
        case .waiting: inFlight >= limits.earlyBytes || inFlight > 0 && registry.budget.isExhausted
        case .paired: inFlight >= Self.window || inFlight > 0 && registry.budget.isExhausted
        case .head, .leaving: false
        }
    }

    /// Whether it is time to give credit: small amounts wait, or the other end had a wake-up a message.
    private var owesCredit: Bool { owed >= Self.creditLot || owed > 0 && registry.budget.isExhausted }

    /// Tells the other end that its frames were taken.
    private func giveCredit(evenLittle: Bool = false) {
        guard owesCredit || evenLittle && owed > 0 else { return }
        let credit = owed
        owed = 0
        registry.budget.add(-credit)
        if case .paired(let other) = phase { other.perform { $0.takeCredit(credit) } }
    }

    private func takeCredit(_ bytes: Int) {
        inFlight -= bytes
        readIfAllowed()
    }

    /// Forgets what no client has come for.
    private func dropEarly() {
        guard early.readableBytes > 0 else { return }
        registry.budget.add(-early.readableBytes)
        early = ByteBuffer()
    }

    private func shortenRein() {
        guard !isBulky, let options = context?.channel.syncOptions else { return }
        isBulky = true
        BulkReceiveLimit.take(by: options)
    }

    private func readIfAllowed() {
        guard isReadHeld, !isPaused else { return }
        isReadHeld = false
        context?.read()
    }
}

// MARK: - The end

extension TunnelHandler {
    /// The tunnel is over: say so with a close frame, and hang up.
    func sayGoodbye(_ code: CloseCode?) {
        guard isOpen else { return }
        finish(ServerFrame.close(code))
    }

    /// Writes the last word, shuts this direction of the socket and waits for the other side to hang up.
    private func finish(_ lastWord: ByteBuffer) {
        guard let context else { return }
        phase = .leaving
        dropEarly()
        deadline = .now() + limits.closeTimeout
        readIfAllowed()
        context.writeAndFlush(wrapOutboundOut(lastWord), promise: nil)
        context.close(mode: .output, promise: nil)
    }

    /// Closes the connection without ceremony.
    ///
    /// TLS may take a moment for its own goodbye; what still comes in then counts no more.
    func hangUp() {
        phase = .leaving
        context?.close(promise: nil)
    }

    /// The relay goes down: a tunnel is ended, anything else is closed.
    func shutDown() {
        if let place {
            registry.end(place.key, .shutdown)
        } else {
            hangUp()
        }
    }

    /// Looks, about once a second, at what the connection must have done by now.
    func look(now: NIODeadline) {
        if let deadline, deadline <= now { return runOut(now: now) }
        guard isOpen else { return }
        pongs = limits.pongsPerSecond
        answerPing()
        if context?.channel.isWritable == true { giveCredit(evenLittle: true) }
        // Room may have come elsewhere.
        readIfAllowed()
        checkLife(now: now)
    }

    private func runOut(now: NIODeadline) {
        switch phase {
        case .head:
            refuse(.headTimeout)
            // Who stalls in the TLS handshake would never see the answer, so nobody is waited for.
            deadline = now
        case .waiting, .paired, .leaving: hangUp()
        }
    }

    /// Pings an end that has been silent for long; what it says while it is not read can't be heard.
    private func checkLife(now: NIODeadline) {
        if wasHeard || isReadHeld {
            (wasHeard, silence) = (false, KeepaliveState(since: now))
            return
        }
        switch silence.next(now: now, limits: limits) {
        case .wait: break
        case .ping:
            guard let context, context.channel.isWritable else { return }
            context.writeAndFlush(wrapOutboundOut(ServerFrame.ping), promise: nil)
        case .giveUp:
            if let place { registry.end(place.key, .unresponsive(place.side)) }
        }
    }

    /// The tunnel's key if it carried data since the last time; only the phone's side keeps that account.
    func takeActivity() -> TunnelKey? {
        guard hasCarriedData, let place, place.side == .phone else { return nil }
        hasCarriedData = false
        return place.key
    }
}
