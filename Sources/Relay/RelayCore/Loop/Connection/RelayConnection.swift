// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc
internal import NIOCore

/// One connection, from its first byte to its last: PROXY header, TLS, request head, upgrade, frames, close.
///
/// Received bytes stay in the event loop's buffers and are processed there: frames are unmasked in place and written to
/// the other end at once. Only what is incomplete, or what a socket does not take, is copied and kept.
///
/// A connection must be used only on its event loop. Any call that writes may find that the socket has failed, which
/// closes the connection, ends its tunnel and closes the other end, too. So a connection may be closed in a call of its
/// own, and checks its phase after each step.
///
/// *Backpressure.* The bytes that the other end's socket has not accepted are kept in that end's output. If they reach a
/// window, this end is not read. Before the other end has joined, frames are kept here, up to `limits.earlyBytes`.
/// All kept bytes count toward ``BufferBudget``. If a paused end closes its connection, it is read to its end
/// once the budget has room.
///
/// *Closing.* The end of a tunnel is reported to the registry, which closes both connections. Each writes the close frame
/// and shuts down its socket's output; in early data, only after the handshake. It drops input until the peer closes, so
/// that no reset overtakes the close frame. `limits.closeTimeout` bounds this wait.
final class RelayConnection {
    enum Phase {
        /// A load balancer's connection whose PROXY header is incomplete.
        case proxyHeader
        /// The TLS handshake or the request head is incomplete.
        case head
        /// An end on its way to the event loop of the end that it joins.
        case moving
        /// A client whose request for a phone is held: it has no response, and its socket is not read.
        case contacting
        /// An end whose other end has not joined.
        case waiting
        /// A phone that proves its contact ID or waits for wake-ups.
        case listening
        /// Both ends are connected.
        case paired(RelayConnection)
        /// The close frame or refusal has been written, and input is dropped.
        case closing
        case closed

        var isHead: Bool { if case .head = self { true } else { false } }
    }

    let descriptor: CInt
    /// The event loop; another one after the connection has moved.
    private(set) var loop: Reactor
    /// The ID in the event loop's table, while the connection is in it.
    var id: ConnectionID?
    /// The move to another event loop, in the phase ``Phase/moving``.
    var move: ConnectionMove?
    private let sharedLimits: SharedLimits
    var tls: TLSConnection?
    /// The counted connection; `nil` before a PROXY header, and after the connection has closed.
    var admitted: AdmittedConnection?

    var phase = Phase.head
    var deadline: NIODeadline?
    var tunnel: (key: TunnelKey, side: TunnelSide)?
    /// The request of a client that contacts a phone, until the phone has joined.
    var contactRequest: ContactRequestState?
    /// The state of a phone that listens.
    var listener: ListeningPhone?

    var head: RequestHeadReader
    // The run-time checks of exclusive access of the next four properties cost more than a short message. They are not
    // needed, because no access calls code that could access the same property: the reader and the arrays call no other.
    @exclusivity(unchecked) var frames: FrameReader
    /// Received bytes of something whose end has not arrived.
    @exclusivity(unchecked) var pendingInput: [UInt8] = []
    /// Frames of an end whose other end has not joined yet.
    @exclusivity(unchecked) var earlyFrames: [UInt8] = []
    /// Bytes that the socket has not accepted, from `outputStart` on.
    @exclusivity(unchecked) var output: [UInt8] = []
    var outputStart = 0
    /// Number of bytes that `pendingInput` must have before it is processed again.
    var neededBytes = 0
    /// Number of bytes that count toward the budget.
    private(set) var bufferedBytes = 0
    /// The events for which the socket is registered.
    private(set) var watchedEvents = EPOLLIN.rawValue
    /// True if TLS must write before it can continue.
    var isTLSBlocked = false
    /// True if the peer has closed its side while the connection was not read.
    private var hasPeerFinished = false
    /// True if nothing more is written after the output.
    var isOutputLast = false
    /// Number of bytes that are still dropped after a refusal; `nil` after the end of a tunnel.
    var remainingDrop: Int?

    /// Payload of the ping to be answered; a later ping replaces it.
    var pendingPong: [UInt8]?
    /// Number of pings that may still be answered before the next sweep.
    var remainingPongs: Int
    var sentCost = 0
    var receivedCost = 0
    var hasCarriedData = false
    /// True if bytes have been received, or kept output has been taken, since the last sweep.
    var hasReceived = false
    var keepalive: KeepaliveState

    /// Creates a connection on a connected, non-blocking socket, which it owns.
    init(_ descriptor: CInt, loop: Reactor) {
        self.descriptor = descriptor
        self.loop = loop
        sharedLimits = loop.context.registry.sharedLimits
        let limits = sharedLimits.value
        head = RequestHeadReader(maximumLength: limits.headBytes)
        frames = FrameReader(maximumMessage: limits.messageBytes)
        remainingPongs = limits.pongsPerSecond
        keepalive = KeepaliveState(since: loop.now)
    }

    /// The limits at the time when the connection was opened.
    var limits: RelayLimits { sharedLimits.value }

    // MARK: Start

    /// Admits the connection of a source, or returns false.
    func admit(from address: SocketAddress?) -> Bool {
        let loop = loop
        do {
            admitted = try loop.context.admission.admitConnection(from: address, now: loop.now) { loop.makeRoom() }
            return true
        } catch {
            return false
        }
    }

    /// Starts with the PROXY header, or with TLS or the request head.
    func start(withProxyHeader hasProxyHeader: Bool) {
        deadline = loop.now + limits.headTime
        if hasProxyHeader { phase = .proxyHeader } else { startTransport() }
    }

    /// Starts TLS if the relay uses it; closes the connection if there is no memory for it.
    func startTransport() {
        loop.addWithoutTunnel(self)
        guard case .tls(let context) = loop.context.transport else { return }
        do throws(ConnectionFailure) {
            tls = try TLSConnection(context, descriptor: descriptor, buffers: loop.buffers)
        } catch {
            close()
        }
    }

    /// Makes the connection belong to another event loop, on whose thread this is called.
    func attach(to loop: Reactor) {
        self.loop = loop
        tls?.rebind(to: loop.buffers)
        watchedEvents = EPOLLIN.rawValue
    }

    // MARK: Events

    /// Handles events of the socket.
    func handle(_ events: UInt32) {
        if events & EPOLLOUT.rawValue != 0 { writeOutput() }
        // Errors, too, are reported by a read.
        if events & ~EPOLLOUT.rawValue != 0 {
            if events & EPOLLRDHUP.rawValue != 0 { hasPeerFinished = true }
            handleInput(events)
        } else if let tls, !tls.isEstablished {
            // The handshake waited for the socket, maybe with input that it had received.
            processKeptCiphertext()
        }
        update()
    }

    /// Reads the socket, unless it is paused and the peer has left.
    private func handleInput(_ events: UInt32) {
        let isUnwatched = watchedEvents & EPOLLIN.rawValue == 0
        switch phase {
        case .proxyHeader where isUnwatched: close()
        case .head where isUnwatched: close()
        // The rest could reach no other end.
        case .waiting where isUnwatched: close()
        case .contacting where isUnwatched: close()
        case .paired where isPaused:
            // After a reset, the socket would report it continuously. After FIN, the rest is read later.
            if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { close() }
        default: readSocket()
        }
    }

    /// Reads the socket once and processes what has arrived.
    private func readSocket() {
        switch phase {
        case .closed, .moving, .contacting: break
        case .closing:
            guard let tls, tls.isInEarlyData else { return dropInput() }
            receiveCiphertext(tls)
        case .proxyHeader: receivePlaintext()
        // The peer has left in the middle of the handshake, without having read what it was sent.
        case .head where isTLSBlocked: close()
        case .head, .waiting, .listening, .paired:
            guard let tls else { return receivePlaintext() }
            receiveCiphertext(tls)
        }
    }

    private func receiveCiphertext(_ tls: TLSConnection) {
        switch tls.receive(upTo: readSize) {
        case .bytes(let count): if mayReceive(count) { processCiphertext(tls) } else { close() }
        case .nothing: break
        case .end, .failed: close()
        }
    }

    /// Processes kept ciphertext, if there is any.
    func processKeptCiphertext() {
        guard let tls, isReading || isClosingInEarlyData else { return }
        tls.restore()
        processCiphertext(tls)
    }

    /// True if received bytes are processed.
    var isReading: Bool {
        switch phase {
        case .proxyHeader, .head, .waiting, .listening, .paired: true
        case .moving, .contacting, .closing, .closed: false
        }
    }

    private func receivePlaintext() {
        let room = UnsafeMutableRawBufferPointer(rebasing: roomForPlaintext()[..<readSize])
        switch Socket.receive(descriptor, into: room) {
        case .bytes(let count): receive(count)
        case .nothing: break
        case .end, .failed: close()
        }
    }

    /// Continues the handshake and processes all complete records.
    private func processCiphertext(_ tls: TLSConnection) {
        defer { tls.keepRest() }
        do throws(ConnectionFailure) {
            if !tls.isEstablished {
                if !tls.isInEarlyData { isTLSBlocked = try tls.handshake() }
                if tls.isInEarlyData { try processEarlyData(tls) }
                guard tls.isEstablished else { return }
            }
            while isReading {
                switch try tls.read(into: roomForPlaintext()) {
                case .bytes(let count): receive(count)
                case .nothing: return
                case .end: return close()
                }
            }
        } catch {
            close()
        }
    }

    /// Returns the part of the loop's plaintext buffer after the place of the pending input.
    func roomForPlaintext() -> UnsafeMutableRawBufferPointer {
        let start = LoopBuffers.headroom + pendingInput.count
        loop.buffers.reservePlaintext(start + LoopBuffers.readSize)
        return UnsafeMutableRawBufferPointer(
            rebasing: loop.buffers.plaintext[start..<(start + LoopBuffers.readSize)]
        )
    }

    /// Processes bytes that have been read to ``roomForPlaintext()``.
    func receive(_ count: Int) {
        hasReceived = true
        let start = LoopBuffers.headroom + pendingInput.count
        if !pendingInput.isEmpty {
            let new = UnsafeRawBufferPointer(rebasing: loop.buffers.plaintext[start..<(start + count)])
            // Something of many bytes that arrives in small pieces is not copied back and forth for each of them.
            // Under memory pressure, a frame is forwarded earlier. A request is not parsed earlier.
            let needed = phase.isHead ? neededBytes : min(neededBytes, bufferedPayload + FrameHeader.maximumLength)
            guard pendingInput.count + count >= needed else { return pendingInput.append(contentsOf: new) }
        }
        let end = start + count
        loadPendingInput()
        switch phase {
        case .proxyHeader: readProxyHeader(upTo: end)
        case .head: readHead(upTo: end)
        case .waiting, .listening, .paired: readFrames(from: LoopBuffers.headroom, upTo: end)
        case .moving, .contacting, .closing, .closed: break
        }
    }

    /// Moves the pending input to its place in the loop's buffer.
    func loadPendingInput() {
        guard !pendingInput.isEmpty else { return }
        let end = LoopBuffers.headroom + pendingInput.count
        UnsafeMutableRawBufferPointer(rebasing: loop.buffers.plaintext[LoopBuffers.headroom..<end])
            .copyBytes(from: pendingInput)
        pendingInput = []
    }

    /// Keeps bytes until at least `count` are there.
    func keepInput(_ bytes: RawSpan, until count: Int) {
        neededBytes = count
        if bytes.byteCount > 0 { pendingInput = Array(copying: bytes) }
    }

    // MARK: State of the socket

    /// Counts the kept bytes and registers the socket for the events that are now of interest.
    func update() {
        guard id != nil else { return }
        count()
        var wanted = EPOLLIN.rawValue
        if isPaused { wanted = hasPeerFinished ? 0 : EPOLLRDHUP.rawValue }
        if outputStart < output.count || isTLSBlocked { wanted |= EPOLLOUT.rawValue }
        guard wanted != watchedEvents else { return }
        watchedEvents = wanted
        if !loop.watch(self) { close() }
    }

    /// Updates the number of bytes that count toward the budget.
    func count() {
        let bytes = incompleteBytes + earlyFrames.capacity + output.capacity
        guard bytes != bufferedBytes else { return }
        loop.context.registry.budget.add(bytes - bufferedBytes)
        bufferedBytes = bytes
    }

    /// Amount of memory for something whose end has not arrived, in bytes.
    var incompleteBytes: Int { pendingInput.capacity + (tls?.heldBytes ?? 0) }

    /// Maximum number of bytes in the next read of the socket.
    private var readSize: Int { hasMemory ? LoopBuffers.readSize : MemoryPressure.readSize }

    /// True if the bytes of all connections have not reached their limit.
    var hasMemory: Bool { !loop.context.registry.budget.isExhausted }

    /// True if a new connection may replace this one: it neither has a tunnel nor has proven a contact ID.
    var isReplaceable: Bool { tunnel == nil && listener?.id == nil }

    /// True if the socket is not read for now.
    var isPaused: Bool {
        if isTLSBlocked { return true }
        if case .contacting = phase { return true }
        guard !hasPeerFinished || !hasMemory else { return false }
        // In early data, the socket is read, because the rest of the handshake is short and has a deadline.
        switch phase {
        case .waiting where earlyFrames.count >= limits.earlyBytes: return !isInEarlyData
        case .waiting where !earlyFrames.isEmpty && !hasMemory: return !isInEarlyData
        case .paired(let other) where other.pendingOutput >= Self.pauseThreshold: return !isInEarlyData
        case .paired(let other) where other.pendingOutput > 0 && !hasMemory: return !isInEarlyData
        case .contacting, .closing, .closed: return false
        case .proxyHeader, .head, .moving, .waiting, .listening, .paired: return isWaitingForMemory
        }
    }

    /// True if the socket is not read because there is no memory for the rest of what has begun.
    ///
    /// The first conditions exclude an end that is not read for another reason: its peer reads slowly.
    var isWaitingForMemory: Bool {
        switch phase {
        case .contacting, .closing, .closed: false
        case .waiting where !earlyFrames.isEmpty: false
        case .paired(let other) where other.pendingOutput > 0: false
        case .proxyHeader, .head, .moving, .waiting, .listening, .paired:
            incompleteBytes >= MemoryPressure.floor && !hasMemory
        }
    }

    /// Number of bytes in the other end's output at which reading from this end stops.
    private static let pauseThreshold = 128 << 10
}

@available(*, unavailable)
extension RelayConnection: Sendable {}
