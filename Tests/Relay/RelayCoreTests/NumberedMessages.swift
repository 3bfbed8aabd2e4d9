// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// The messages of one end of a tunnel, each of which contains the tunnel's number, the end and its own number.
///
/// A byte of another connection, a missing one or a wrong order makes a message differ from the expected one.
struct NumberedMessages {
    let tunnel: Int
    let isPhone: Bool

    /// Returns the message with this number.
    func message(_ number: Int) -> [UInt8] {
        let marker = UInt64(tunnel) << 33 | UInt64(number) << 1 | (isPhone ? 1 : 0)
        var random = SeededGenerator(seed: marker)
        let size = [0, 1, 110, 118, 119, 400, 3_000][random.number(0...6)]
        return (0..<8).map { UInt8(truncatingIfNeeded: marker >> (8 * $0)) }
            + [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: size) + random.bytes(8)
    }

    /// Returns the frames of messages.
    func frames(_ numbers: Range<Int>) -> [UInt8] { numbers.flatMap { Wire.frame(message($0)) } }
}

/// Bytes that an end still has to send, in pieces of random sizes.
struct PendingOutput {
    private var plain: ArraySlice<UInt8>
    private var wire: ArraySlice<UInt8> = []

    /// Creates output of bytes that are not encrypted yet.
    init(_ plain: [UInt8]) { self.plain = plain[...] }

    var isEmpty: Bool { plain.isEmpty && wire.isEmpty }

    /// Encrypts some bytes and sends some of the encrypted ones, as far as the kernel accepts them.
    ///
    /// Thus records end anywhere in frames, and pieces anywhere in records.
    mutating func sendPiece(by end: WireEnd, _ random: inout SeededGenerator) throws {
        if !plain.isEmpty, random.number(0...1) == 0 || wire.isEmpty {
            let piece = plain.prefix(random.number(1...[4, 40, 400, 4_000][random.number(0...3)]))
            wire += try end.wire(Array(piece))
            plain = plain.dropFirst(piece.count)
        }
        let piece = Array(wire.prefix(random.number(1...[3, 30, 300, 5_000][random.number(0...3)])))
        wire = wire.dropFirst(try end.socket.sendSome(piece))
    }
}

/// The messages that an end has received so far, compared with those that its peer sends.
struct ExpectedInput {
    let messages: NumberedMessages
    private(set) var count = 0

    init(_ messages: NumberedMessages) { self.messages = messages }

    /// Compares all messages that have arrived.
    ///
    /// - Returns: False if a message is wrong.
    mutating func check(_ end: WireEnd) -> Bool {
        while let frame = end.takeFrame() {
            if frame.opcode == Wire.ping { continue }
            let expected = Wire.Received(opcode: Wire.binary, final: true, payload: messages.message(count))
            guard frame == expected else { return false }
            count += 1
        }
        return true
    }
}
