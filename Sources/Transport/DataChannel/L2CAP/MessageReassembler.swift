// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE

/// A reader that finds the messages in the packets of an L2CAP channel.
///
/// CR LF follows each message (CTAP 2.3), but a ciphertext may contain these two bytes, too. So each occurrence is
/// offered as a possible end, and the owner of the key decides. Some phones are reported to send a message in one
/// packet without CR LF. So the end of the packet in which a message began is also offered, and so is the end of the
/// last packet.
///
/// The total length of the trials for one message is limited. A trial takes time proportional to its length, so a
/// stream of nothing but CR LF would take quadratic time. In a genuine ciphertext, CR LF occurs by chance once in
/// 65,536 bytes, which is about 16 times in the longest message.
struct MessageReassembler {
    /// Maximum number of bytes offered for one message, summed over all trials.
    static let maximumTried = 64 * Limits.messageBytes

    private static let delimiter: [UInt8] = [0x0D, 0x0A]

    private var bytes: [UInt8] = []
    /// End of the packet in which the current message began.
    private var firstPacketEnd: Int?
    /// Position up to which the bytes have been searched for ends.
    private var cursor = 0
    private var hasTriedFirstPacket = false
    private var hasTriedRest = false
    private var tried = 0
    /// True if the previous message was accepted without its CR LF, which may still arrive.
    private var expectsDelimiter = false
    private var isOver = false

    /// True if no unfinished message is left.
    var isEmpty: Bool { bytes.isEmpty || bytes == Self.delimiter && expectsDelimiter }

    /// Adds a packet.
    mutating func append(_ packet: [UInt8]) {
        if expectsDelimiter, bytes.isEmpty, packet == Self.delimiter {
            expectsDelimiter = false
            return
        }
        if bytes.isEmpty { firstPacketEnd = packet.count }
        bytes += packet
    }

    /// Declares that no packet follows.
    mutating func end() { isOver = true }

    /// Makes `next` offer rejected candidates again, to another receiver.
    mutating func offerAgain() {
        cursor = 0
        hasTriedFirstPacket = false
        hasTriedRest = false
    }

    /// Offers every possible message, the shortest first, until one is accepted; returns `nil` if none is.
    ///
    /// - Throws: ``TunnelError/messageRefused`` if there are more bytes than a message can have, or if the trials
    ///   exceed ``maximumTried``.
    mutating func next<Accepted>(_ accept: (WireMessage) -> Accepted?) throws(TunnelError) -> Accepted? {
        while let (end, delimiterLength) = nextEnd() {
            for start in starts(before: end) {
                guard end - start <= Limits.messageBytes else { continue }
                tried += end - start
                guard tried <= Self.maximumTried else { throw .messageRefused }
                guard let accepted = accept(WireMessage(bytes: Array(bytes[start..<end]))) else { continue }
                take(end + delimiterLength, expectsDelimiter: delimiterLength == 0)
                return accepted
            }
        }
        // A message of the maximum length would be complete by now, with its delimiter and the one expected before it.
        let most = Limits.messageBytes + (expectsDelimiter ? 2 : 1) * Self.delimiter.count
        guard bytes.count < most else { throw .messageRefused }
        return nil
    }

    /// Returns the possible starts of the message, one of which is after a late delimiter of the previous message.
    private func starts(before end: Int) -> [Int] {
        guard expectsDelimiter, bytes.starts(with: Self.delimiter) else { return end > 0 ? [0] : [] }
        return end > Self.delimiter.count ? [Self.delimiter.count, 0] : []
    }

    private mutating func nextEnd() -> (end: Int, delimiterLength: Int)? {
        while cursor < bytes.count {
            if let firstPacketEnd, cursor == firstPacketEnd, !hasTriedFirstPacket {
                hasTriedFirstPacket = true
                return (cursor, 0)
            }
            guard bytes[cursor] == Self.delimiter[0] else {
                cursor += 1
                continue
            }
            // The second byte may be in the next packet; the end of the packet itself is still offered.
            guard cursor + 1 < bytes.count else { break }
            cursor += 1
            if bytes[cursor] == Self.delimiter[1] { return (cursor - 1, Self.delimiter.count) }
        }
        if let firstPacketEnd, firstPacketEnd == bytes.count, !hasTriedFirstPacket {
            hasTriedFirstPacket = true
            return (firstPacketEnd, 0)
        }
        guard isOver, !hasTriedRest, !bytes.isEmpty else { return nil }
        hasTriedRest = true
        return (bytes.count, 0)
    }

    private mutating func take(_ count: Int, expectsDelimiter: Bool) {
        bytes.removeFirst(count)
        // The rest began within a packet, so the end of that packet does not suggest the end of a message.
        firstPacketEnd = nil
        tried = 0
        self.expectsDelimiter = expectsDelimiter
        offerAgain()
    }
}
