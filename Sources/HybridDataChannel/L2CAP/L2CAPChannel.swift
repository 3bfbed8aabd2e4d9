// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads

/// A message channel by radio alone: packets of Bluetooth LE, each message followed by CR LF (CTAP 2.3).
///
/// The link is neither paired nor encrypted: what travels is the handshake and encrypted frames, as through a relay.
/// Messages have at most 1 MiB, and what nobody reads holds the other device back.
public final class L2CAPChannel: MessageChannel {
    private let traffic = AwaitableState(PacketTraffic())
    private let cutter = Locked(MessageReassembler())
    private let alarm: Alarm?
    private let largestPacket: Int

    /// How long a message may wait to be sent: so long, and a second more for every 4 KiB.
    private static let patience = Duration.seconds(30)

    /// A channel over a connected socket that keeps packets apart; it closes the socket.
    ///
    /// - Parameters:
    ///   - socket: its descriptor, which is this channel's from now on.
    ///   - largestPacket: most bytes that the other device takes at once, at least 1.
    public init(adopting socket: CInt, largestPacket: Int) {
        self.largestPacket = max(1, largestPacket)
        alarm = Alarm()
        guard let alarm, PacketThread.start(socket, alarm, traffic) else {
            PacketThread.close(socket)
            traffic.change { ($0.end, $0.isOver) = (.lost, true) }
            return
        }
    }

    deinit { leave() }

    /// Sends one message in as few packets as the other device takes; returns when the kernel has them all.
    public func send(_ message: WireMessage) async throws {
        try Task.checkCancellation()
        let bytes = message.bytes + [0x0D, 0x0A]
        let packets = stride(from: 0, to: bytes.count, by: largestPacket).map { start in
            Array(bytes[start..<min(start + largestPacket, bytes.count)])
        }
        let isTaken = traffic.change { traffic in
            guard traffic.end == nil, !traffic.isLeaving else { return false }
            traffic.outgoing += packets
            traffic.deadline = .now + Self.patience + .seconds(bytes.count / 4096)
            return true
        }
        guard isTaken else { throw failure(traffic.read { $0.end }) }
        alarm?.ring()
        while true {
            let (isSent, end) = traffic.read { ($0.outgoing.isEmpty, $0.end) }
            // What was not sent when the channel ended is dropped, so the end comes first.
            if let end { throw failure(end) }
            if isSent { return }
            try Task.checkCancellation()
            await traffic.wait { $0.outgoing.isEmpty || $0.end != nil }
        }
    }

    /// Waits for the next message that `accept` takes, which is offered everything that may be one.
    public func receive<Accepted: Sendable>(
        accept: @Sendable (WireMessage) -> Accepted?
    ) async throws -> Accepted {
        cutter.withLock { $0.offerAgain() }
        while true {
            try Task.checkCancellation()
            if let accepted = try offer(to: accept) { return accepted }
            let (packet, end, wasFull) = traffic.change { traffic -> ([UInt8]?, PacketTraffic.End?, Bool) in
                guard !traffic.received.isEmpty else { return (nil, traffic.end, false) }
                let wasFull = !traffic.hasRoom
                return (traffic.received.removeFirst(), nil, wasFull)
            }
            if wasFull { alarm?.ring() }
            if let packet {
                cutter.withLock { $0.append(packet) }
            } else if let end {
                cutter.withLock { $0.end() }
                if let accepted = try offer(to: accept) { return accepted }
                // Half a message is no farewell.
                throw cutter.withLock { $0.isEmpty } ? failure(end) : TunnelError.connectionLost
            } else {
                await traffic.wait { !$0.received.isEmpty || $0.end != nil }
            }
        }
    }

    private func offer<Accepted>(to accept: (WireMessage) -> Accepted?) throws -> Accepted? {
        do {
            return try cutter.withLock { cutter throws in try cutter.next(accept) }
        } catch {
            leave()
            throw error
        }
    }

    private func failure(_ end: PacketTraffic.End?) -> TunnelError {
        // As a relay tells that the other end is done.
        end == .closed ? .closed(code: 1000) : .connectionLost
    }

    private func leave() {
        traffic.change { $0.isLeaving = true }
        alarm?.ring()
    }

    /// Closes the channel when what was sent is gone, after a second at the latest, whatever state the task is in.
    public func close() async {
        leave()
        let traffic = self.traffic
        await Task {
            while !traffic.read({ $0.isOver }) { await traffic.wait { $0.isOver } }
        }.value
    }
}
