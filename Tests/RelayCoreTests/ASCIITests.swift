// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridRelayCore

@Suite("ASCII in request heads")
struct ASCIITests {
    /// RFC 9110 §5.6.2, written as there.
    static let token = Set("!#$%&'*+-.^_`|~".utf8 + Array(0x30...0x39) + Array(0x41...0x5A) + Array(0x61...0x7A))

    @Test("a token has the characters that RFC 9110 lists, and no others")
    func tokens() {
        for byte in UInt8.min...UInt8.max {
            #expect(byte.isTokenCharacter == Self.token.contains(byte), "\(byte)")
        }
    }

    @Test("eight bytes at once are judged as one by one, whatever stands beside them")
    func words() {
        func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }
        func isNamed(_ byte: UInt8) -> Bool {
            (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "-")
        }
        // Each byte at each place, among neighbours that borrow, carry or neither.
        for around: UInt8 in [0x00, 0x1F, 0x20, 0x2D, 0x41, 0x5A, 0x61, 0x7A, 0x7E, 0x7F, 0x80, 0xFF] {
            for place in 0..<8 {
                for byte in UInt8.min...UInt8.max {
                    var bytes = [UInt8](repeating: around, count: 8)
                    bytes[place] = byte
                    let word = bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
                    #expect(word.bytesBeforeControl == bytes.prefix { !isControl($0) }.count)
                    #expect(word.lettersAndHyphens == bytes.prefix(while: isNamed).count)
                }
            }
        }
    }

    private static func isSame(_ bytes: some Collection<UInt8>, _ text: StaticString) -> Bool {
        Array(bytes).span.equalsIgnoringCase(text)
    }

    @Test("text is compared in either case, and nothing else is the same")
    func cases() {
        for text: StaticString in ["websocket", "sec-websocket-protocol", "fido.cable", "upgrade"] {
            let lower = text.withUTF8Buffer { Array($0) }
            let upper = Array(String(decoding: lower, as: UTF8.self).uppercased().utf8)
            #expect(Self.isSame(lower, text) && Self.isSame(upper, text))
            for place in lower.indices {
                // Control characters do not get as far as a comparison.
                for byte in UInt8(0x20)...UInt8.max where byte != lower[place] && byte != upper[place] {
                    var other = lower
                    other[place] = byte
                    #expect(!Self.isSame(other, text), "\(byte)")
                }
            }
            #expect(!Self.isSame(lower.dropLast(), text))
            #expect(!Self.isSame(lower + lower, text))
        }
    }
}
