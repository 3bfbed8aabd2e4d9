// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads

/// A message channel over Bluetooth LE without a relay: L2CAP packets, with CR LF after each message (CTAP 2.3).
///
/// The devices are not paired and the link is not encrypted. Like a relay, it carries only the handshake and encrypted
/// frames. A message has at most 1 MiB. If too many packets are unread, no more are received, and the peer has to wait.
public final class L2CAPChannel: MessageChannel {
    private let traffic = AwaitableState(PacketTraffic())
    private let reassembler = Locked(MessageReassembler())
    private let waker: Waker?
    private let largestPacket: Int

    /// Maximum time for sending a short message; every 4 KiB add one second.
    private static let sendTimeout = Duration.seconds(30)

    /// Creates a channel over a connected socket that preserves packet boundaries.
    ///
    /// - Parameters:
    ///   - socket: The socket's descriptor, which the channel owns and closes.
    ///   - largestPacket: Maximum number of bytes that the peer accepts in one packet, at least 1.
    public init(adopting socket: CInt, largestPacket: Int) {
        self.largestPacket = max(1, largestPacket)
        waker = Waker()
        guard let waker, PacketThread.start(socket, waker, traffic) else {
            PacketThread.close(socket)
            traffic.change { ($0.end, $0.isOver) = (.lost, true) }
            return
        }
    }

    deinit { requestClose() }

    /// Sends one message in as few packets as possible; returns when the kernel has accepted all of them.
    public func send(_ message: WireMessage) async throws {
        try Task.checkCancellation()
        let bytes = message.bytes + [0x0D, 0x0A]
        let packets = stride(from: 0, to: bytes.count, by: largestPacket).map { start in
            Array(bytes[start..<min(start + largestPacket, bytes.count)])
        }
        let isTaken = traffic.change { traffic in
            guard traffic.end == nil, !traffic.isClosing else { return false }
            traffic.outgoing += packets
            traffic.deadline = .now + Self.sendTimeout + .seconds(bytes.count / 4096)
            return true
        }
        guard isTaken else { throw failure(traffic.read { $0.end }) }
        waker?.wake()
        while true {
            let (isSent, end) = traffic.read { ($0.outgoing.isEmpty, $0.end) }
            // When the channel ends, unsent packets are dropped, so an empty queue does not mean that they were sent.
            if let end { throw failure(end) }
            if isSent { return }
            try Task.checkCancellation()
            await traffic.wait { $0.outgoing.isEmpty || $0.end != nil }
        }
    }

    /// Waits for the next message for which `accept` returns a value; all bytes that may be a message are offered.
    public func receive<Accepted: Sendable>(accept: @Sendable (WireMessage) -> Accepted?) async throws -> Accepted {
        reassembler.withLock { $0.offerAgain() }
        while true {
            try Task.checkCancellation()
            if let accepted = try offer(to: accept) { return accepted }
            let (packet, end, wasFull) = traffic.change { traffic -> ([UInt8]?, PacketTraffic.End?, Bool) in
                guard !traffic.received.isEmpty else { return (nil, traffic.end, false) }
                let wasFull = !traffic.hasRoom
                return (traffic.received.removeFirst(), nil, wasFull)
            }
            if wasFull { waker?.wake() }
            if let packet {
                reassembler.withLock { $0.append(packet) }
            } else if let end {
                reassembler.withLock { $0.end() }
                if let accepted = try offer(to: accept) { return accepted }
                // If the channel ended within a message, it was not closed in an orderly way.
                throw reassembler.withLock { $0.isEmpty } ? failure(end) : TunnelError.connectionLost
            } else {
                await traffic.wait { !$0.received.isEmpty || $0.end != nil }
            }
        }
    }

    private func offer<Accepted>(to accept: (WireMessage) -> Accepted?) throws -> Accepted? {
        do {
            return try reassembler.withLock { reassembler throws in try reassembler.next(accept) }
        } catch {
            requestClose()
            throw error
        }
    }

    private func failure(_ end: PacketTraffic.End?) -> TunnelError {
        // 1000 is the code with which a relay reports that the other end closed normally.
        end == .closed ? .closed(code: 1000) : .connectionLost
    }

    private func requestClose() {
        traffic.change { $0.isClosing = true }
        waker?.wake()
    }

    /// Closes the channel when all packets are sent, or after one second, even in a canceled task.
    public func close() async {
        requestClose()
        let traffic = self.traffic
        await Task {
            while !traffic.read({ $0.isOver }) { await traffic.wait { $0.isOver } }
        }.value
    }
}
