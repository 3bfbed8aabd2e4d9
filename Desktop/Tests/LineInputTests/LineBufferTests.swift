// SPDX-License-Identifier: Apache-2.0

import HybridLineInput
import HybridPrimitives
import Testing

@Suite("Lines of input")
struct LineBufferTests {
    private let buffer = LineBuffer()

    private func lines(_ input: [UInt8]) -> [String] {
        var lines: [String] = []
        input.withUnsafeBytes { bytes in
            buffer.append(bytes) { lines.append(String(decoding: $0.memory, as: UTF8.self)) }
        }
        return lines
    }

    private func lines(_ text: String) -> [String] { lines(Array(text.utf8)) }

    @Test("several lines arrive at once, an incomplete one does not")
    func several() {
        #expect(lines("one\ntwo\n\nthr") == ["one", "two", ""])
        #expect(lines("ee\n") == ["three"])
    }

    @Test("input may be split anywhere")
    func split() {
        let input = Array("{\"a\":1}\nzwei ü\n".utf8)
        for cut in 0...input.count {
            #expect(lines(Array(input[..<cut])) + lines(Array(input[cut...])) == ["{\"a\":1}", "zwei ü"])
        }
    }

    @Test("a line of the maximum length arrives, a longer one is skipped to its end")
    func length() {
        let longest = String(repeating: "x", count: buffer.maximumLength)
        #expect(lines(longest + "\n") == [longest])
        #expect(lines(longest + "y\nnext\n") == ["next"])
        for _ in 0..<5 { #expect(lines(longest) == []) }
        #expect(lines("end of the long line\nnext\n") == ["next"])
    }

    @Test("the maximum length can be chosen")
    func shorter() {
        let short = LineBuffer(maximumLength: 3)
        var lines: [String] = []
        Array("abc\nabcd\nab\n".utf8).withUnsafeBytes { bytes in
            short.append(bytes) { lines.append(String(decoding: $0.memory, as: UTF8.self)) }
        }
        #expect(lines == ["abc", "ab"])
    }
}
