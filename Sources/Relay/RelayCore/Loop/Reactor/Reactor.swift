// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc
internal import NIOCore

/// An event loop: it waits for its sockets, reads and writes them, and checks their deadlines.
///
/// Each event loop has its own thread, epoll instance and connections. Both ends of a tunnel belong to one event loop,
/// so messages never pass between threads. Others reach an event loop only through its ``LoopMailbox``. There are no
/// timers: a sweep about once a second checks all deadlines.
final class Reactor {
    private struct Entry {
        var connection: RelayConnection?
        var generation: UInt32 = 0
        /// The time from which a sweep checks the connection.
        var nextCheck = Reactor.atNextSweep
    }

    /// A time before each sweep.
    private static let atNextSweep = NIODeadline.uptimeNanoseconds(0)
    /// Maximum number of events that the kernel reports in one turn.
    private static let eventCount = 256

    let context: RelayContext
    let mailbox: LoopMailbox
    let buffers = LoopBuffers()
    /// Time of the current turn.
    private(set) var now: NIODeadline

    private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: eventCount)
    // The run-time checks of exclusive access are not needed, because no access calls code that accesses the same
    // property: the deinitializers of a connection only release memory, and arrays and queues call no other code.
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var freeSlots: [UInt32] = []
    /// Number of connections.
    @exclusivity(unchecked) private(set) var connectionCount = 0
    /// Connections that had no tunnel when they were admitted, the oldest first.
    @exclusivity(unchecked) private var withoutTunnel = ConnectionQueue()
    // Nor does accepting: a new connection does not access the sockets.
    @exclusivity(unchecked) private var acceptingSockets: AcceptingSockets
    /// The event loop that accepts connections, too, while this one is busy; `nil` for the last one.
    private let helper: LoopMailbox?
    private var load: LoopLoad
    /// True if the helper was last told to accept connections.
    private var isHelped = false
    private var nextSweep: NIODeadline
    private var isStopped = false
    private var whenStopped: CheckedContinuation<Void, Never>?

    /// Callers that wait until all connections are closed.
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []
    /// Time when the remaining connections are closed without a closing handshake; `nil` before a shutdown.
    private var closeDeadline: NIODeadline?

    /// Creates an event loop; it must be used only on the thread that creates it.
    ///
    /// - Parameters:
    ///   - context: The parts that all event loops share.
    ///   - mailbox: The messages for this event loop.
    ///   - isAccepting: False if the event loop accepts connections only while another one is busy.
    ///   - helper: The event loop that accepts connections, too, while this one is busy.
    ///   - now: The current time.
    init(
        _ context: RelayContext,
        _ mailbox: LoopMailbox,
        isAccepting: Bool,
        helper: LoopMailbox?,
        now: NIODeadline = .now()
    ) {
        self.context = context
        self.mailbox = mailbox
        self.helper = helper
        self.now = now
        acceptingSockets = AcceptingSockets(epoll: mailbox.epoll, isAccepting: isAccepting)
        load = LoopLoad(since: now)
        nextSweep = now + context.sweepInterval
    }

    deinit { events.deallocate() }

    // MARK: Turns

    /// Runs until a message stops the event loop.
    func run() {
        var end = NIODeadline.now()
        while !isStopped {
            turn(waiting: timeout(from: end))
            if now >= nextSweep {
                sweep(now: now)
                nextSweep = now + context.sweepInterval
            }
            end = .now()
            recordTurn(until: end)
        }
        closeAll()
        whenStopped?.resume()
    }

    /// The time until the next deadline in milliseconds, rounded up.
    private func timeout(from time: NIODeadline) -> CInt {
        var next = nextSweep
        if let time = acceptingSockets.nextResume { next = min(next, time) }
        if let closeDeadline, connectionCount > 0 { next = min(next, closeDeadline) }
        let wait = (next - time).nanoseconds
        return CInt(clamping: max(0, (wait + 999_999) / 1_000_000))
    }

    /// Waits for events and handles them.
    ///
    /// Connections are accepted last. Generation numbers protect the others: if a descriptor is closed and its number is
    /// used again in the same turn, a late event does not reach the new connection.
    ///
    /// - Parameters:
    ///   - milliseconds: The maximum time to wait; -1 means no limit.
    ///   - time: The time of the turn, for tests. By default, the clock is read after the wait.
    /// - Returns: False if there was nothing to handle.
    @discardableResult
    func turn(waiting milliseconds: CInt, now time: NIODeadline? = nil) -> Bool {
        let count = Int(epoll_wait(mailbox.epoll, events, CInt(Self.eventCount), milliseconds))
        now = time ?? .now()
        var hasMessages = false
        var readySockets: [CInt] = []
        for index in 0..<max(0, count) {
            let number = hybrid_epoll_data(&events[index])
            switch number {
            case LoopMailbox.event: hasMessages = true
            case AcceptingSocket.firstEvent...: readySockets.append(CInt(truncatingIfNeeded: number))
            default: handle(ConnectionID(number: number), events[index].events)
            }
        }
        if hasMessages { for message in mailbox.take() { handle(message) } }
        for descriptor in readySockets { accept(from: descriptor) }
        acceptingSockets.resume(now: now)
        finishClosing()
        return count > 0
    }

    private func handle(_ id: ConnectionID, _ events: UInt32) {
        guard let connection = connection(id) else { return }
        entries[Int(id.slot)].nextCheck = Self.atNextSweep
        connection.handle(events)
        if case .moving = connection.role { handOver(connection) }
    }

    private func handle(_ message: LoopMessage) {
        switch message {
        case .addSocket(let descriptor): accept(on: descriptor)
        case .accept(let isAccepting): acceptingSockets.set(isAccepting: isAccepting, now: now)
        case .removeSockets(let continuation):
            acceptingSockets.removeAll()
            continuation.resume()
        case .receive(let transfer): receive(transfer.connection)
        case .closeTunnel(let id, let code, let refusal): connection(id)?.closeTunnel(code, refusal)
        case .contact(let id, let order): if let connection = connection(id) { carryOut(order, on: connection) }
        case .proofPushed(let id, let number, let outcome): connection(id)?.recordProofPush(number, outcome)
        case .drain: forEachConnection { $0.drain() }
        case .close(let grace, let continuation):
            whenEmpty.append(continuation)
            guard closeDeadline == nil else { return }
            closeDeadline = now + grace
            forEachConnection { $0.shutDown() }
        case .stop(let continuation):
            isStopped = true
            whenStopped = continuation
        }
    }

    // MARK: Accepting

    /// Accepts connections from a listening, non-blocking socket, which the caller owns.
    func accept(on descriptor: CInt) { acceptingSockets.add(descriptor, now: now) }

    private func accept(from descriptor: CInt) {
        let code = acceptingSockets.accept(from: descriptor, now: now) { adopt($0, from: $1) }
        if code != 0 { context.warnOfAcceptPause(code, now: now) }
    }

    /// Records the time that the current turn took; starts or stops the helper if the load has changed.
    func recordTurn(until end: NIODeadline) {
        guard let helper else { return }
        load.record(now, until: end)
        let needsHelper = acceptingSockets.isAccepting && load.needsHelper
        guard needsHelper != isHelped else { return }
        isHelped = needsHelper
        helper.post(.accept(needsHelper))
    }

    /// Takes over a connected, non-blocking socket and admits the connection, or closes it.
    ///
    /// - Parameters:
    ///   - descriptor: The socket.
    ///   - address: The peer's address, if it is known.
    func adopt(_ descriptor: CInt, from address: SocketAddress?) {
        let connection = RelayConnection(descriptor, loop: self)
        let hasHeader = context.isBalancer(address)
        // The source of a balancer's connection is known only after its PROXY header.
        guard closeDeadline == nil, hasHeader || connection.admit(from: address), add(connection) else {
            // A response would be more expensive, because it requires a TLS handshake.
            return connection.close()
        }
        connection.start(withProxyHeader: hasHeader)
    }

    /// Closes the oldest connection that neither has a tunnel nor listens; returns false if there is none.
    func makeRoom() -> Bool {
        while let id = withoutTunnel.popFirst() {
            guard let connection = connection(id), connection.isReplaceable else { continue }
            connection.close()
            return true
        }
        return false
    }

    /// Records an admitted connection, which ``makeRoom()`` may close.
    func addWithoutTunnel(_ connection: RelayConnection) {
        while let first = withoutTunnel.first, self.connection(first)?.isReplaceable != true {
            withoutTunnel.popFirst()
        }
        if let id = connection.id { withoutTunnel.append(id) }
    }

    // MARK: Connections

    /// Returns the connection with this ID; `nil` if it has left.
    func connection(_ id: ConnectionID) -> RelayConnection? {
        guard id.slot < entries.count else { return nil }
        let entry = entries[Int(id.slot)]
        return entry.generation == id.generation ? entry.connection : nil
    }

    /// Gives a connection an ID and registers its socket; returns false if the system has no memory for it.
    private func add(_ connection: RelayConnection) -> Bool {
        let slot: UInt32
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = UInt32(entries.count)
            entries.append(Entry())
        }
        let id = ConnectionID(slot: slot, generation: entries[Int(slot)].generation)
        entries[Int(slot)].connection = connection
        entries[Int(slot)].nextCheck = Self.atNextSweep
        connection.id = id
        connectionCount += 1
        return watch(connection, EPOLL_CTL_ADD)
    }

    /// Removes a connection; its ID becomes invalid.
    func remove(_ connection: RelayConnection) {
        guard let id = connection.id, self.connection(id) === connection else { return }
        connection.id = nil
        let slot = Int(id.slot)
        entries[slot].connection = nil
        entries[slot].generation = id.successor.generation
        freeSlots.append(id.slot)
        connectionCount -= 1
    }

    /// Makes the next sweep check a connection, because its state has changed.
    func checkSoon(_ connection: RelayConnection) {
        if let id = connection.id { entries[Int(id.slot)].nextCheck = Self.atNextSweep }
    }

    /// Changes the events of a connection's socket.
    @discardableResult
    func watch(_ connection: RelayConnection, _ operation: CInt = EPOLL_CTL_MOD) -> Bool {
        guard let id = connection.id else { return false }
        return hybrid_epoll_control(
            mailbox.epoll,
            operation,
            connection.socket.descriptor,
            connection.socket.watchedEvents,
            id.number
        ) == 0
    }

    private func forEachConnection(_ body: (RelayConnection) -> Void) {
        // A body may close any connection, so each is looked up again.
        var slot = 0
        while slot < entries.count {
            if let connection = entries[slot].connection { body(connection) }
            slot += 1
        }
    }

    /// Sends close frames to the ends of tunnels, of which some may belong to other event loops.
    func carryOut(_ instructions: [TunnelTable<TunnelMember>.CloseInstruction]) {
        for instruction in instructions {
            let member = instruction.member
            if member.mailbox === mailbox {
                connection(member.connection)?.closeTunnel(instruction.code, instruction.refusal)
            } else {
                instruction.post()
            }
        }
    }

    /// Passes the orders of the contact table on, of which some may be for connections of other event loops.
    ///
    /// The order to respond to a client goes through the mailbox even here. It continues with the client's input, for
    /// which the loop's buffers may be in use now. It is posted before the wake-up is sent, so it precedes the phone's
    /// request.
    func carryOut(_ instructions: [ContactTable<TunnelMember>.Instruction]) {
        for instruction in instructions {
            let member = instruction.member
            if member.mailbox === mailbox, let connection = connection(member.connection),
                !instruction.order.continuesInput
            {
                carryOut(instruction.order, on: connection)
            } else {
                member.mailbox.post(.contact(member.connection, instruction.order))
            }
        }
    }

    private func carryOut(_ order: ContactInstruction, on connection: RelayConnection) {
        switch order {
        case .accept: connection.acceptContact()
        case .wake(let wakeUp): connection.deliver(wakeUp)
        case .replaced: connection.closeTunnel(.policyViolation)
        }
    }

    // MARK: Hand-over

    /// Moves a connection to the event loop of the tunnel that it joins.
    ///
    /// This loop first forgets the connection. After the message has been posted, the connection belongs to the other
    /// thread.
    private func handOver(_ connection: RelayConnection) {
        guard case .moving(let move) = connection.role else { return }
        _ = hybrid_epoll_control(mailbox.epoll, EPOLL_CTL_DEL, connection.socket.descriptor, 0, 0)
        remove(connection)
        let isPosted = move.destination.post(.receive(ConnectionInTransit(connection)))
        if !isPosted { connection.close() }
    }

    private func receive(_ connection: RelayConnection) {
        mailbox.countHandOff()
        connection.attach(to: self)
        guard closeDeadline == nil, add(connection) else { return connection.close() }
        connection.continueAfterMove()
        if connection.isReplaceable { addWithoutTunnel(connection) }
    }

    // MARK: Sweep

    /// Checks deadlines and reports the tunnels that carried data.
    ///
    /// A connection on which nothing happens is not accessed until it is due. With many idle connections, each of which
    /// is out of the CPU's caches, this is cheaper than their pings.
    func sweep(now: NIODeadline) {
        self.now = now
        mailbox.recordSweep(at: now)
        var active: [TunnelIdentity] = []
        // A check may close any connection, so each is looked up again.
        var slot = 0
        while slot < entries.count {
            if entries[slot].nextCheck <= now, let connection = entries[slot].connection {
                connection.checkDeadlines()
                if case .tunnel(let end) = connection.role, let key = end.takeActivity() { active.append(key) }
                if connection.id != nil { entries[slot].nextCheck = connection.nextCheck }
            }
            slot += 1
        }
        carryOut(context.registry.sweep(active: active, now: now))
        context.admission.sweep(now: now)
        finishClosing()
    }

    // MARK: Stop

    /// Closes connections whose grace period is over, and resumes the callers that wait until all are closed.
    private func finishClosing() {
        guard let closeDeadline else { return }
        if now >= closeDeadline, connectionCount > 0 { forEachConnection { $0.close() } }
        guard connectionCount == 0 else { return }
        for continuation in whenEmpty { continuation.resume() }
        whenEmpty = []
    }

    /// Closes all connections and refuses further messages.
    func closeAll() {
        isStopped = true
        closeDeadline = closeDeadline ?? now
        for message in mailbox.closeAndTake() { handle(message) }
        forEachConnection { $0.close() }
        finishClosing()
    }
}

extension TunnelTable<TunnelMember>.CloseInstruction {
    /// Passes the instruction to the event loop of its connection.
    func post() { member.mailbox.post(.closeTunnel(member.connection, code, refusal)) }
}

@available(*, unavailable)
extension Reactor: Sendable {}
