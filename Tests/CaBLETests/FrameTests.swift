// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("Frames")
struct FrameTests {
    /// Returns both ends of one direction with a random key.
    private static func key(_ random: inout SeededGenerator) -> SymmetricKey { SymmetricKey(data: random.bytes(32)) }

    @Test("Messages of every length arrive in order, padded to multiples of 32 bytes")
    func roundTrip() throws {
        var random = SeededGenerator()
        let key = Self.key(&random)
        var sealer = FrameSealer(key: key)
        var opener = FrameOpener(key: key)
        for length in 0...130 {
            let message = random.bytes(length)
            let frame = try sealer.seal(message)
            #expect(frame.bytes.count == (length / 32 + 1) * 32 + 16, "\(random)")
            let opened = try opener.open(frame)
            #expect(opened == message, "\(random)")
        }
    }

    @Test("A channel in both directions")
    func channel() throws {
        var random = SeededGenerator()
        let one = try Ceremony(using: &random)
        let initiator = try one.initiator(linked: false)
        let answer = try one.responder(linked: false).answer(initiator.message1)
        var client = try initiator.finish(answer.message2).open()
        var phone = answer.takeKeys().open()
        for _ in 0..<5 {
            let (there, back) = (random.bytes(40), random.bytes(400))
            let request = try client.sealer.seal(there)
            let received = try phone.opener.open(request)
            #expect(received == there, "\(random)")
            let response = try phone.sealer.seal(back)
            let answered = try client.opener.open(response)
            #expect(answered == back, "\(random)")
            #expect(throws: FrameError.notAuthentic) { try FrameOpener(key: one.psk.key).next.open(response) }
        }
        let own = try client.sealer.seal([1])
        expectError(.notAuthentic, "a reflected frame") { () throws(FrameError) in
            _ = try client.opener.open(own)
        }
    }

    @Test("A damaged frame is rejected and does not advance the counter")
    func damage() throws {
        var random = SeededGenerator()
        let key = Self.key(&random)
        var sealer = FrameSealer(key: key)
        var opener = FrameOpener(key: key)
        for _ in 0..<3 {
            let message = random.bytes(random.number(0...40))
            let frame = try sealer.seal(message)
            let damaged = Damage.truncations(of: frame.bytes) + Damage.bitFlips(of: frame.bytes) + [frame.bytes + [0]]
            for bytes in damaged {
                expectError(.notAuthentic, "\(random)") { () throws(FrameError) in
                    _ = try opener.open(Frame(bytes: bytes))
                }
            }
            let opened = try opener.open(frame)
            #expect(opened == message, "\(random)")
        }
    }

    @Test("Replayed, skipped and reordered frames are rejected")
    func order() throws {
        var random = SeededGenerator()
        let key = Self.key(&random)
        var sealer = FrameSealer(key: key)
        var opener = FrameOpener(key: key)
        let first = try sealer.seal([1])
        let second = try sealer.seal([2])
        expectError(.notAuthentic, "the second before the first") { () throws(FrameError) in
            _ = try opener.open(second)
        }
        let opened = try opener.open(first)
        #expect(opened == [1])
        expectError(.notAuthentic, "the first again") { () throws(FrameError) in _ = try opener.open(first) }
        let next = try opener.open(second)
        #expect(next == [2])
    }

    @Test("A trial does not advance the counter until it is accepted")
    func trials() throws {
        var random = SeededGenerator()
        let key = Self.key(&random)
        var sealer = FrameSealer(key: key)
        var opener = FrameOpener(key: key)
        let (first, second) = (try sealer.seal([1]), try sealer.seal([2]))
        let joined = first.bytes + second.bytes
        let trial = opener.next
        let cuts = joined.indices.filter { (try? trial.open(Frame(bytes: Array(joined[..<$0])))) != nil }
        #expect(cuts == [first.bytes.count], "\(random)")
        #expect(try opener.next.open(first) == [1])
        opener.accept(trial)
        #expect(try opener.next.open(second) == [2])
        #expect(throws: FrameError.notAuthentic) { try trial.open(second) }
    }

    @Test("No counter is used twice: both directions fail after the last one")
    func exhaustion() throws {
        var random = SeededGenerator()
        let key = Self.key(&random)
        var sealer = FrameSealer(key: key, counter: Limits.frameCounter - 1)
        var opener = FrameOpener(key: key, counter: Limits.frameCounter - 1)
        for message: [UInt8] in [[1], [2]] {
            let frame = try sealer.seal(message)
            let opened = try opener.open(frame)
            #expect(opened == message)
        }
        for _ in 0..<2 {
            expectError(.counterExhausted, "sealing") { () throws(FrameError) in _ = try sealer.seal([]) }
            expectError(.counterExhausted, "opening") { () throws(FrameError) in
                _ = try opener.open(Frame(bytes: [UInt8](repeating: 0, count: 48)))
            }
        }
    }

    @Test("The longest message fits; one byte more is rejected without advancing the counter")
    func sizes() throws {
        var random = SeededGenerator()
        let key = Self.key(&random)
        var sealer = FrameSealer(key: key)
        let longest = (Limits.messageBytes - 16) / 32 * 32 - 1
        expectError(.tooLong, "one byte more") { () throws(FrameError) in
            _ = try sealer.seal([UInt8](repeating: 1, count: longest + 1))
        }
        let message = [UInt8](repeating: 1, count: longest)
        let frame = try sealer.seal(message)
        #expect(frame.bytes.count <= Limits.messageBytes)
        var opener = FrameOpener(key: key)
        let opened = try opener.open(frame)
        #expect(opened == message)
        expectError(.notAuthentic, "longer than any message") { () throws(FrameError) in
            _ = try opener.open(Frame(bytes: [UInt8](repeating: 0, count: Limits.messageBytes + 1)))
        }
    }

    @Test("Invalid padding is rejected, and the counter does not advance")
    func padding() throws {
        var random = SeededGenerator()
        let keyBytes = random.bytes(32)
        var opener = FrameOpener(key: SymmetricKey(data: keyBytes))
        let nonce = [UInt8](repeating: 0, count: 12)
        for padded: [UInt8] in [[1], [0, 0, 3], [UInt8](repeating: 255, count: 255)] {
            let frame = Frame(bytes: try OpenSSLOracle.seal(padded, key: keyBytes, nonce: nonce))
            expectError(.padding, "\(padded.count)") { () throws(FrameError) in _ = try opener.open(frame) }
        }
        let empty = Frame(bytes: try OpenSSLOracle.seal([], key: keyBytes, nonce: nonce))
        expectError(.notAuthentic, "a tag alone") { () throws(FrameError) in _ = try opener.open(empty) }
        // libwebauthn pads before it adds the type byte, which gives 33 bytes instead of 32.
        let odd = Frame(
            bytes: try OpenSSLOracle.seal(
                [1, 4] + [UInt8](repeating: 0, count: 30) + [30],
                key: keyBytes,
                nonce: nonce
            )
        )
        let opened = try opener.open(odd)
        #expect(opened == [1, 4])
        #expect(FramePadding.granularity == 32)
    }

    /// Expects an error; `#expect(throws:)` does not support noncopyable values.
    private func expectError(
        _ expected: FrameError,
        _ comment: Comment,
        _ body: () throws(FrameError) -> Void
    ) {
        do {
            try body()
            Issue.record("no error was thrown: \(comment)")
        } catch { #expect(error == expected, comment) }
    }
}
