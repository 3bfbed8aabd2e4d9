// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import TestSupport
import Testing

@Suite("Withheld byte strings")
struct CBORWithholdingTests {
    @Test("Byte strings of the named members are zeros of the same length; everything else is decoded as usual")
    func places() throws {
        let secret: [UInt8] = [1, 2, 3, 4]
        let map: CBORMap = [
            "a": .bytes(secret), "b": .bytes(secret), "c": ["a": .bytes(secret)], "d": [.bytes(secret), "text", 7],
            7: .bytes(secret),
        ]
        let bytes = CBOREncoder.encode(map)
        let (value, withheld) = try CBORDecoder.decode(bytes, withholding: ["a", "d", "z"], mode: .strict)
        let zeros = CBORValue.bytes([0, 0, 0, 0])
        let expected: CBORMap = [
            "a": zeros, "b": .bytes(secret), "c": ["a": .bytes(secret)], "d": [zeros, "text", 7], 7: .bytes(secret),
        ]
        #expect(value == .map(expected))
        #expect(withheld.keys.sorted() == ["a"], "an array is not a byte string itself")
        #expect(try Array(bytes[#require(withheld["a"])]) == secret)
    }

    @Test("Without names, the result is that of the ordinary decoder, and so is every refusal")
    func sameResults() {
        var random = SeededGenerator()
        for _ in 0..<2000 {
            var bytes = CBOREncoder.encode(RandomCBOR.value(using: &random))
            if random.number(0...1) == 0, !bytes.isEmpty {
                bytes[random.number(0...(bytes.count - 1))] = UInt8(random.number(0...255))
            }
            if random.number(0...7) == 0 { bytes.append(0) }
            let usual = Result { try CBORDecoder.decode(bytes, mode: .strict) }
            let other = Result { try CBORDecoder.decode(bytes, withholding: [], mode: .strict).value }
            switch (usual, other) {
            case (.success(let usual), .success(let other)): #expect(usual == other, "\(random)")
            case (.failure(let usual), .failure(let other)):
                #expect(usual as? CBORError == other as? CBORError, "\(random)")
            default: Issue.record("one refuses: \(random)")
            }
        }
    }
}
