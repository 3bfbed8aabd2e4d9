// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// The one thread of an L2CAP channel, which receives and sends its packets.
///
/// A thread and not an event loop's channel: packets must neither be cut nor joined, and event loops treat whatever they
/// read as a stream. The kernel reports the end of a link once, before the packets that came before it; so an error is
/// noted and reading goes on until nothing is left.
final class PacketThread {
    /// The longest packet that L2CAP knows, in bytes.
    private static let longest = 65_535
    /// How long packets may wait to be sent once nobody needs the channel any more.
    private static let closeTimeout = Duration.seconds(1)

    private let socket: CInt
    private let alarm: Alarm
    private let traffic: AwaitableState<PacketTraffic>
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 1)
    /// Set at the first error; what lies in the socket's queue is still read.
    private var failure: PacketTraffic.End?

    /// Starts the thread, which closes the socket in the end; `false` if there is none to be had.
    static func start(_ socket: CInt, _ alarm: Alarm, _ traffic: AwaitableState<PacketTraffic>) -> Bool {
        DedicatedThread.start { PacketThread(socket, alarm, traffic).run() }
    }

    /// Closes a socket for which there was no thread.
    static func close(_ socket: CInt) { _ = Glibc.close(socket) }

    private init(_ socket: CInt, _ alarm: Alarm, _ traffic: AwaitableState<PacketTraffic>) {
        (self.socket, self.alarm, self.traffic) = (socket, alarm, traffic)
    }

    deinit { buffer.deallocate() }

    private func run() {
        var leavingSince: ContinuousClock.Instant?
        while true {
            let (hasRoom, hasOutgoing, sendingUntil, end, isLeaving) = traffic.read {
                ($0.hasRoom, !$0.outgoing.isEmpty, $0.deadline, $0.end, $0.isLeaving)
            }
            var deadline = hasOutgoing ? sendingUntil : nil
            if isLeaving {
                leavingSince = leavingSince ?? .now
                deadline = leavingSince.map { min($0 + Self.closeTimeout, deadline ?? $0 + Self.closeTimeout) }
            }
            if end != nil || isLeaving && (!hasOutgoing || failure != nil) { break }
            if let deadline, deadline <= .now {
                finish(.lost)
                break
            }
            if failure != nil, hasRoom {
                receive()
            } else {
                // The kernel tells of a broken link again and again, also to those who have no room to hear it out.
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
            pollfd(fd: alarm.descriptor, events: CShort(POLLIN), revents: 0),
        ]
        guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return }
        if descriptors[1].revents != 0 { alarm.rest() }
        let happened = descriptors[0].revents
        if forRoom, happened & CShort(POLLOUT | POLLHUP | POLLERR) != 0 { send() }
        if forPackets, happened & CShort(POLLIN | POLLHUP | POLLERR) != 0 { receive() }
    }

    private func receive() {
        let count = recv(socket, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT) | CInt(MSG_TRUNC))
        if count > 0 {
            // Longer than the longest there is: a socket of another kind.
            guard count <= buffer.count else { return finish(.lost) }
            let packet = Array(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return traffic.change { $0.received.append(packet) }
        }
        if count == 0 { return finish(failure ?? .closed) }
        switch errno {
        case EINTR: return
        case EAGAIN: if let failure { finish(failure) }
        case let error: failure.map(finish) ?? note(error)
        }
    }

    private func send() {
        guard let packet = traffic.read({ $0.outgoing.first }) else { return }
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        let count = packet.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, flags) }
        if count >= 0 { return traffic.change { _ = $0.outgoing.removeFirst() } }
        switch errno {
        case EINTR, EAGAIN: return
        case let error: note(error)
        }
    }

    /// Notes what an error means; what came before it is still to be read.
    private func note(_ error: CInt) {
        switch error {
        case ECONNRESET, EPIPE, ENOTCONN: failure = failure ?? .closed
        default: failure = failure ?? .lost
        }
    }

    private func finish(_ end: PacketTraffic.End) { traffic.change { $0.end = $0.end ?? end } }
}

/// Wakes the thread: one of two connected sockets.
final class Alarm: Sendable {
    /// Readable when rung.
    let descriptor: CInt
    private let other: CInt

    /// `nil` when there are no descriptors left.
    init?() {
        var pair: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { return nil }
        (descriptor, other) = (pair[0], pair[1])
    }

    deinit {
        _ = close(descriptor)
        _ = close(other)
    }

    /// Rings; that it is full already is as good.
    func ring() { _ = Glibc.send(other, [1 as UInt8], 1, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)) }

    /// Stops ringing.
    func rest() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT)) == bytes.count {}
    }
}
