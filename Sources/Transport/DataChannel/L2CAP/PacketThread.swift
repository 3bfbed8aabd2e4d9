// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// The thread of an L2CAP channel, which receives and sends its packets.
///
/// An event loop would treat the packets as a stream and split or join them. The kernel reports the end of a link once,
/// before it delivers packets that arrived earlier. So an error is recorded, and reading continues until the queue is
/// empty.
final class PacketThread {
    /// Maximum length of an L2CAP packet in bytes.
    private static let maximumLength = 65_535
    /// Maximum time for sending the remaining packets once the channel is closing.
    private static let closeTimeout = Duration.seconds(1)

    private let socket: CInt
    private let waker: Waker
    private let traffic: AwaitableState<PacketTraffic>
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: maximumLength, alignment: 1)
    /// The first error; packets in the socket's queue are still read.
    private var failure: PacketTraffic.End?

    /// Starts the thread, which closes the socket when it ends; returns false if no thread can be created.
    static func start(_ socket: CInt, _ waker: Waker, _ traffic: AwaitableState<PacketTraffic>) -> Bool {
        DedicatedThread.start { PacketThread(socket, waker, traffic).run() }
    }

    /// Closes a socket for which no thread could be created.
    static func close(_ socket: CInt) { _ = Glibc.close(socket) }

    private init(_ socket: CInt, _ waker: Waker, _ traffic: AwaitableState<PacketTraffic>) {
        (self.socket, self.waker, self.traffic) = (socket, waker, traffic)
    }

    deinit { buffer.deallocate() }

    private func run() {
        var closingSince: ContinuousClock.Instant?
        while true {
            let (hasRoom, hasOutgoing, sendingUntil, end, isClosing) = traffic.read {
                ($0.hasRoom, !$0.outgoing.isEmpty, $0.deadline, $0.end, $0.isClosing)
            }
            var deadline = hasOutgoing ? sendingUntil : nil
            if isClosing {
                closingSince = closingSince ?? .now
                deadline = closingSince.map { min($0 + Self.closeTimeout, deadline ?? $0 + Self.closeTimeout) }
            }
            if end != nil || isClosing && (!hasOutgoing || failure != nil) { break }
            if let deadline, deadline <= .now {
                finish(.lost)
                break
            }
            if failure != nil, hasRoom {
                receive()
            } else {
                // poll(2) would report a broken link repeatedly, even without room for the packets before it.
                wait(forPackets: hasRoom, forRoom: hasOutgoing && failure == nil, until: deadline)
            }
        }
        Self.close(socket)
        traffic.change { traffic in
            traffic.end = traffic.end ?? .closed
            traffic.outgoing = []
            traffic.isOver = true
        }
    }

    private func wait(forPackets: Bool, forRoom: Bool, until deadline: ContinuousClock.Instant?) {
        let events = CShort((forPackets ? POLLIN : 0) | (forRoom ? POLLOUT : 0))
        var milliseconds: CInt = -1
        if let deadline {
            milliseconds = CInt(max(0, min(ContinuousClock.now.duration(to: deadline) / .milliseconds(1) + 1, 60_000)))
        }
        var descriptors = [
            pollfd(fd: events == 0 ? -1 : socket, events: events, revents: 0),
            pollfd(fd: waker.descriptor, events: CShort(POLLIN), revents: 0),
        ]
        guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return }
        if descriptors[1].revents != 0 { waker.reset() }
        let happened = descriptors[0].revents
        if forRoom, happened & CShort(POLLOUT | POLLHUP | POLLERR) != 0 { send() }
        if forPackets, happened & CShort(POLLIN | POLLHUP | POLLERR) != 0 { receive() }
    }

    private func receive() {
        let count = recv(socket, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT) | CInt(MSG_TRUNC))
        if count > 0 {
            // Only a socket of another type could deliver a longer packet.
            guard count <= buffer.count else { return finish(.lost) }
            let packet = Array(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return traffic.change { $0.received.append(packet) }
        }
        if count == 0 { return finish(failure ?? .closed) }
        switch errno {
        case EINTR: return
        case EAGAIN: if let failure { finish(failure) }
        case let error: failure.map(finish) ?? record(error)
        }
    }

    private func send() {
        guard let packet = traffic.read({ $0.outgoing.first }) else { return }
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        let count = packet.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, flags) }
        if count >= 0 { return traffic.change { _ = $0.outgoing.removeFirst() } }
        switch errno {
        case EINTR, EAGAIN: return
        case let error: record(error)
        }
    }

    /// Records an error; packets that arrived before it are still read.
    private func record(_ error: CInt) {
        switch error {
        case ECONNRESET, EPIPE, ENOTCONN: failure = failure ?? .closed
        default: failure = failure ?? .lost
        }
    }

    private func finish(_ end: PacketTraffic.End) { traffic.change { $0.end = $0.end ?? end } }
}

/// The state shared by the thread of an L2CAP channel and the tasks that use the channel.
struct PacketTraffic: Sendable {
    /// Maximum number of unread packets; while there are as many, no more are received.
    static let capacity = 8

    /// Reason why no more packets will arrive.
    enum End: Sendable {
        /// This end or the peer closed the channel.
        case closed
        /// The link broke.
        case lost
    }

    var received: [[UInt8]] = []
    /// Packets that are still to be sent.
    var outgoing: [[UInt8]] = []
    /// Time by which the outgoing packets must be sent.
    var deadline: ContinuousClock.Instant?
    var end: End?
    /// True once this end has requested to close the channel.
    var isClosing = false
    /// True once the thread has closed the socket.
    var isOver = false

    var hasRoom: Bool { received.count < Self.capacity }
}
