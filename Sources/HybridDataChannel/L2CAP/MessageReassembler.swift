// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE

/// Finds out where messages end in the packets of an L2CAP channel.
///
/// A message is followed by CR LF, says CTAP 2.3, but nothing keeps these two bytes out of a ciphertext. So each place
/// where they stand is only offered as an end, and who knows the key says whether it was one. Phones have been reported
/// that send one message in one packet and no CR LF, so the end of the packet with which a message began is offered,
/// too; and behind the last packet of all, whatever is left.
///
/// What is tried for one message is bounded, since each trial costs as much as the message is long: a stream of nothing
/// but CR LF would cost the square of its length. Ends in the midst of an honest message come about by chance, once in
/// 65,536 bytes: the longest message has 16 of them.
struct MessageReassembler {
    /// Most bytes that are offered for one message, over all of its trials.
    static let mostTried = 64 * Limits.messageBytes

    private static let mark: [UInt8] = [0x0D, 0x0A]

    private var bytes: [UInt8] = []
    /// Where the packet with which the present message began ends.
    private var firstPacketEnd: Int?
    /// How far ends have been looked for.
    private var cursor = 0
    private var hasTriedFirstPacket = false
    private var hasTriedRest = false
    private var tried = 0
    /// Whether the message before ended without its CR LF, which may still come.
    private var owesMark = false
    private var isOver = false

    /// Whether nothing is left of an unfinished message.
    var isEmpty: Bool { bytes.isEmpty || bytes == Self.mark && owesMark }

    /// Adds a packet.
    mutating func append(_ packet: [UInt8]) {
        if owesMark, bytes.isEmpty, packet == Self.mark {
            owesMark = false
            return
        }
        if bytes.isEmpty { firstPacketEnd = packet.count }
        bytes += packet
    }

    /// Says that no packet follows.
    mutating func end() { isOver = true }

    /// Offers what was refused once more, to somebody else.
    mutating func offerAgain() {
        cursor = 0
        hasTriedFirstPacket = false
        hasTriedRest = false
    }

    /// Offers every message that there may be, the shortest first, until one is taken; `nil` if none is, yet.
    ///
    /// - Throws: ``TunnelError/messageRefused`` when there is more than any message has, or more was tried than honest
    ///   senders make necessary.
    mutating func next<Accepted>(_ accept: (WireMessage) -> Accepted?) throws(TunnelError) -> Accepted? {
        while let (end, markLength) = nextEnd() {
            for start in starts(before: end) {
                guard end - start <= Limits.messageBytes else { continue }
                tried += end - start
                guard tried <= Self.mostTried else { throw .messageRefused }
                guard let accepted = accept(WireMessage(bytes: Array(bytes[start..<end]))) else { continue }
                take(end + markLength, owesMark: markLength == 0)
                return accepted
            }
        }
        // The longest message and its mark would have been taken, with the mark in front that may still be owed.
        let most = Limits.messageBytes + (owesMark ? 2 : 1) * Self.mark.count
        guard bytes.count < most else { throw .messageRefused }
        return nil
    }

    /// Where the message may begin: behind the mark that the one before still owed, if that is what stands there.
    private func starts(before end: Int) -> [Int] {
        guard owesMark, bytes.starts(with: Self.mark) else { return end > 0 ? [0] : [] }
        return end > Self.mark.count ? [Self.mark.count, 0] : []
    }

    private mutating func nextEnd() -> (end: Int, markLength: Int)? {
        while cursor < bytes.count {
            if let firstPacketEnd, cursor == firstPacketEnd, !hasTriedFirstPacket {
                hasTriedFirstPacket = true
                return (cursor, 0)
            }
            guard bytes[cursor] == Self.mark[0] else {
                cursor += 1
                continue
            }
            // Its second byte may be in the next packet; the packet's own end is offered all the same.
            guard cursor + 1 < bytes.count else { break }
            cursor += 1
            if bytes[cursor] == Self.mark[1] { return (cursor - 1, Self.mark.count) }
        }
        if let firstPacketEnd, firstPacketEnd == bytes.count, !hasTriedFirstPacket {
            hasTriedFirstPacket = true
            return (firstPacketEnd, 0)
        }
        guard isOver, !hasTriedRest, !bytes.isEmpty else { return nil }
        hasTriedRest = true
        return (bytes.count, 0)
    }

    private mutating func take(_ count: Int, owesMark: Bool) {
        bytes.removeFirst(count)
        // What follows began in the midst of a packet, whose end says nothing then.
        firstPacketEnd = nil
        tried = 0
        self.owesMark = owesMark
        offerAgain()
    }
}
