// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE

/// Finds the ends of messages in the packets of an L2CAP channel.
///
/// CR LF follows each message (CTAP 2.3), but a ciphertext may contain these two bytes, too. So each occurrence is
/// offered as a possible end, and the owner of the key decides. Some phones are reported to send a message in one
/// packet without CR LF. So the end of the packet in which a message began is offered as well, and whatever is left
/// after the last packet.
///
/// The bytes tried for one message are limited, because each trial takes time in proportion to the message: a stream of
/// CR LF alone would take quadratic time. In an honest ciphertext CR LF occurs by chance once in 65,536 bytes, at most
/// about 16 times in the longest message.
struct MessageReassembler {
    /// Maximum number of bytes offered for one message, over all trials.
    static let maximumTried = 64 * Limits.messageBytes

    private static let delimiter: [UInt8] = [0x0D, 0x0A]

    private var bytes: [UInt8] = []
    /// End of the packet in which the current message began.
    private var firstPacketEnd: Int?
    /// Position up to which ends have been searched for.
    private var cursor = 0
    private var hasTriedFirstPacket = false
    private var hasTriedRest = false
    private var tried = 0
    /// True if the previous message ended without its CR LF, which may still arrive.
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

    /// Offers every possible message, the shortest first, until one is accepted; returns `nil` if none is so far.
    ///
    /// - Throws: ``TunnelError/messageRefused`` if the bytes are more than any message has, or more were tried than
    ///   honest senders make necessary.
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
        // The longest message would have been accepted with its delimiter and the one expected in front of it.
        let most = Limits.messageBytes + (expectsDelimiter ? 2 : 1) * Self.delimiter.count
        guard bytes.count < most else { throw .messageRefused }
        return nil
    }

    /// Returns possible starts of the message: behind the delimiter that the previous one still lacked, if it is there.
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
        // The rest began within a packet, whose end is no hint then.
        firstPacketEnd = nil
        tried = 0
        self.expectsDelimiter = expectsDelimiter
        offerAgain()
    }
}
