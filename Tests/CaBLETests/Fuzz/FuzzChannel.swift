// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridCaBLE

/// Tests a channel with an attacker between its ends.
///
/// Only the next unmodified frame of a direction is decrypted and advances the counter. No counter is used twice.
func fuzzChannel(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    // Some channels begin near the last counter, which is about 16 million.
    let start = choices.flag() ? Limits.frameCounter - 3 : 0
    var there = Direction(key: SymmetricKey(data: [UInt8](repeating: 1, count: 32)), counter: start)
    var back = Direction(key: SymmetricKey(data: [UInt8](repeating: 2, count: 32)), counter: start)
    for _ in 0..<64 where !choices.isEmpty {
        let reflected = [there.sent, back.sent]
        if choices.flag() {
            try there.step(&choices, elsewhere: reflected[1])
        } else {
            try back.step(&choices, elsewhere: reflected[0])
        }
    }
    return there.opened + back.opened > 0
}

/// One direction with both ends and its expected state.
private struct Direction: ~Copyable {
    private let key: SymmetricKey
    private let start: UInt32
    private var sealer: FrameSealer
    private var opener: FrameOpener
    private var messages: [[UInt8]] = []

    /// Encrypted frames in order.
    private(set) var sent: [[UInt8]] = []
    /// Number of decrypted frames.
    private(set) var opened = 0

    init(key: SymmetricKey, counter: UInt32) {
        self.key = key
        start = counter
        sealer = FrameSealer(key: key, counter: counter)
        opener = FrameOpener(key: key, counter: counter)
    }

    private var counter: UInt32 { start + UInt32(opened) }
    private var isUsedUp: Bool { counter > Limits.frameCounter }
    /// The next frame.
    private var next: [UInt8]? { opened < sent.count ? sent[opened] : nil }

    mutating func step(_ choices: inout Choices, elsewhere: [[UInt8]]) throws {
        switch choices.number(below: 8) {
        case 0...2: try seal(choices.bytes(choices.number(below: 100)))
        case 3: try deliver(next ?? [])
        case 4: try deliver(choices.pick(sent + elsewhere + [[]]))
        case 5: try deliver(Tampering.delivered(next ?? [], others: sent + elsewhere, &choices))
        case 6: try cut(choices.number(below: 256))
        default: try pad(choices.bytes(choices.number(below: 100)))
        }
    }

    private mutating func seal(_ message: [UInt8]) throws {
        let mayFit = start + UInt32(sent.count) <= Limits.frameCounter
        let frame: Frame
        do throws(FrameError) {
            frame = try sealer.seal(message)
        } catch {
            try invariant(!mayFit && error == .counterExhausted, "a short message is encrypted")
            return
        }
        try invariant(mayFit, "no counter is used twice")
        try invariant(frame.bytes.count % 32 == 16 && frame.bytes.count > message.count + 16, "its length is hidden")
        messages.append(message)
        sent.append(frame.bytes)
    }

    private mutating func deliver(_ bytes: [UInt8]) throws {
        let isNext = bytes == next
        let message: [UInt8]
        do throws(FrameError) {
            message = try opener.open(Frame(bytes: bytes))
        } catch {
            try invariant(!isNext, "the next frame is decrypted")
            try invariant(
                error == (isUsedUp ? .counterExhausted : .notAuthentic),
                "other frames are rejected without details"
            )
            return
        }
        try invariant(isNext, "only the next unmodified frame is decrypted")
        try invariant(message == messages[opened], "the message is preserved")
        opened += 1
    }

    /// Tests trial decryption on a stream without frame boundaries: only one length succeeds.
    private mutating func cut(_ place: Int) throws {
        guard let frame = next else { return }
        let stream = frame + (opened + 1 < sent.count ? sent[opened + 1] : [])
        let trial = opener.next
        let piece = Array(stream.prefix(place))
        let message = try? trial.open(Frame(bytes: piece))
        try invariant((message != nil) == (piece.count == frame.count), "only the right length is decrypted")
        guard message != nil else { return }
        opener.accept(trial)
        opened += 1
    }

    /// Tests arbitrary padding from a peer with the right key.
    private func pad(_ padded: [UInt8]) throws {
        try invariant(try FramePadding.unpad(FramePadding.pad(padded)) == padded, "padding survives the round trip")
        guard !isUsedUp else { return }
        let nonce = try AES.GCM.Nonce(data: FrameNonce.bytes(counter))
        let box = try AES.GCM.seal(padded, using: key, nonce: nonce)
        let message = try? opener.next.open(Frame(bytes: Array(box.ciphertext) + Array(box.tag)))
        let zeros = Int(padded.last ?? 0)
        let expected = padded.isEmpty || zeros >= padded.count ? nil : Array(padded.prefix(padded.count - 1 - zeros))
        try invariant(message == expected, "the last byte is the length of the padding")
    }
}
