// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc
internal import NIOCore

/// One connection, from its first byte to its last: PROXY header, TLS, request head, upgrade, frames, close.
///
/// Its ``socket`` transports bytes, and its ``role`` decides what they mean. The extensions of this type follow the roles:
/// the request, an end of a tunnel, a phone that listens, a client that contacts a phone, and the end of the connection.
///
/// Received bytes stay in the event loop's buffers and are processed there: frames are unmasked in place and written to
/// the other end at once. Only what is incomplete, or what a socket does not take, is copied and kept.
///
/// A connection must be used only on its event loop. Any call that writes may find that the socket has failed, which
/// closes the connection, ends its tunnel and closes the other end, too. So a connection may be closed in a call of its
/// own, and checks its role after each step.
///
/// *Backpressure.* The bytes that the other end's socket has not accepted are kept in that end's output. If they reach a
/// threshold, this end is not read. Before the other end has joined, frames are kept here, up to `limits.earlyBytes`.
/// All kept bytes count toward ``BufferBudget``. If a paused end closes its connection, it is read to its end
/// once the budget has room.
///
/// *Closing.* The end of a tunnel is reported to the registry, which closes both connections. Each writes the close frame
/// and shuts down its socket's output; in early data, only after the handshake. It drops input until the peer closes, so
/// that no reset overtakes the close frame. `limits.closeTimeout` bounds this wait.
final class RelayConnection {
    /// The part that the connection plays, with its state.
    enum Role {
        /// A load balancer's connection whose PROXY header is incomplete.
        case proxyHeader
        /// A peer whose TLS handshake or request head is incomplete.
        case head(RequestHeadReader)
        /// An end on its way to the event loop of the end that it joins.
        case moving(ConnectionHandOver)
        /// A client whose request for a phone is held: it has no response, and its socket is not read.
        case contacting(ContactRequestState)
        /// One end of a tunnel.
        case tunnel(TunnelEnd)
        /// A phone that proves its contact ID or waits for wake-ups.
        case listening(ListeningPhone)
        /// A peer to which the close frame or refusal has been written, and whose input is dropped up to a limit.
        case closing(TunnelEnd?, remainingDrop: Int)
        case closed

        var isHead: Bool { if case .head = self { true } else { false } }
    }

    // The run-time check of exclusive access costs more than a short message. It is not needed, because the socket's
    // methods do not call the connection.
    @exclusivity(unchecked) var socket: BufferedSocket
    /// The event loop; another one after the connection has moved.
    private(set) var loop: Reactor
    /// The ID in the event loop's table, while the connection is in it.
    var id: ConnectionID?
    let sharedLimits: LimitsReference
    /// The counted connection; `nil` before a PROXY header, and after the connection has closed.
    var admitted: AdmittedConnection?
    var role: Role
    var deadline: NIODeadline?
    /// True if the peer is a trusted load balancer, whose requests follow its PROXY header.
    private(set) var isFromBalancer = false

    /// Creates a connection on a connected, non-blocking socket, which it owns.
    init(_ descriptor: CInt, loop: Reactor) {
        socket = BufferedSocket(descriptor)
        self.loop = loop
        sharedLimits = loop.context.registry.sharedLimits
        role = .head(RequestHeadReader(maximumLength: sharedLimits.value.headBytes))
    }

    /// The limits at the time when the connection was opened.
    var limits: RelayLimits { sharedLimits.value }

    // MARK: Role

    /// True if the connection is one end of a tunnel that has not ended, or listens.
    var isOpen: Bool {
        switch role {
        case .tunnel, .listening: true
        case .proxyHeader, .head, .moving, .contacting, .closing, .closed: false
        }
    }

    /// True if received bytes are processed.
    var isReading: Bool {
        switch role {
        case .proxyHeader, .head, .tunnel, .listening: true
        case .moving, .contacting, .closing, .closed: false
        }
    }

    /// The state of the WebSocket while the connection is open.
    var webSocket: WebSocketEnd? {
        switch role {
        case .tunnel(let end): end
        case .listening(let phone): phone
        case .proxyHeader, .head, .moving, .contacting, .closing, .closed: nil
        }
    }

    /// The end of a tunnel that the connection is, will be after its response, or was before it closes.
    var tunnelEnd: TunnelEnd? {
        switch role {
        case .contacting(let contact): contact.end
        case .tunnel(let end): end
        case .closing(let end, _): end
        case .proxyHeader, .head, .moving, .listening, .closed: nil
        }
    }

    /// True if a new connection may replace this one: it neither has a tunnel nor has proven a contact ID.
    var isReplaceable: Bool {
        if case .listening(let phone) = role { phone.id == nil } else { tunnelEnd == nil }
    }

    /// True if the connection is one end of a tunnel that the other end has joined.
    var isPaired: Bool { if case .tunnel(let end) = role { end.other != nil } else { false } }

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
        isFromBalancer = hasProxyHeader
        if hasProxyHeader { role = .proxyHeader } else { startTransport() }
    }

    /// Starts TLS if the relay uses it; closes the connection if there is no memory for it.
    func startTransport() {
        loop.addWithoutTunnel(self)
        guard case .tls(let context) = loop.context.transport else { return }
        do throws(ConnectionFailure) { try socket.startTLS(context, loop.buffers) } catch { close() }
    }

    /// Makes the connection belong to another event loop, on whose thread this is called.
    func attach(to loop: Reactor) {
        self.loop = loop
        socket.attach(to: loop.buffers)
    }

    // MARK: Events

    /// Handles events of the socket.
    func handle(_ events: UInt32) {
        if events & EPOLLOUT.rawValue != 0 { writeOutput() }
        // Errors, too, are reported by a read.
        if events & ~EPOLLOUT.rawValue != 0 {
            if events & EPOLLRDHUP.rawValue != 0 { socket.hasPeerFinished = true }
            handleInput(events)
        } else if let tls = socket.tls, !tls.isEstablished {
            // The handshake waited for the socket, maybe with input that it had received.
            processKeptCiphertext()
        }
        update()
    }

    /// Counts the kept bytes and registers the socket for the events that are now of interest.
    func update() {
        guard id != nil else { return }
        countBytes()
        if socket.updateEvents(isPaused: isPaused), !loop.watch(self) { close() }
    }

    /// Updates the number of bytes that count toward the budget.
    func countBytes() {
        let change = socket.countBytes()
        if change != 0 { budget.add(change) }
    }

    // MARK: Backpressure

    /// The number of bytes that all connections buffer, and its limit.
    var budget: BufferBudget { loop.context.registry.budget }

    /// True if the bytes of all connections have not reached their limit.
    var hasMemory: Bool { !budget.isExhausted }

    /// True if the socket is not read for now.
    var isPaused: Bool {
        if socket.isTLSBlocked { return true }
        if case .contacting = role { return true }
        guard !socket.hasPeerFinished || !hasMemory else { return false }
        switch role {
        case .contacting, .closing, .closed: return false
        case .tunnel(let end):
            let (count, limit) = end.undeliveredBytes(sharedLimits)
            if count >= limit || count > 0 && !hasMemory {
                // In early data, the socket is read, because the rest of the handshake is short and has a deadline.
                return !socket.isInEarlyData
            }
            if count > 0 { return false }
        case .proxyHeader, .head, .moving, .listening: break
        }
        // There may be no memory for the rest of what has begun.
        return socket.incompleteBytes >= MemoryPressure.floor && !hasMemory
    }
}

@available(*, unavailable)
extension RelayConnection: Sendable {}
