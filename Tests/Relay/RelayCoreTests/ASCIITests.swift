// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridRelayCore

@Suite("ASCII in request heads")
struct ASCIITests {
    /// The list of RFC 9110 §5.6.2.
    static let token: Set<UInt8> = {
        let marks = Array("!#$%&'*+-.^_`|~".utf8)
        return Set([marks, Array(0x30...0x39), Array(0x41...0x5A), Array(0x61...0x7A)].joined())
    }()

    @Test("a token has the characters that RFC 9110 lists, and no others")
    func tokens() {
        for byte in UInt8.min...UInt8.max {
            #expect(byte.isTokenCharacter == Self.token.contains(byte), "\(byte)")
        }
    }

    @Test("field characters are all bytes except control characters other than the tab")
    func fieldCharacters() {
        for byte in UInt8.min...UInt8.max {
            let isControl = byte < 0x20 && byte != 0x09 || byte == 0x7F
            #expect(byte.isFieldCharacter == !isControl, "\(byte)")
        }
    }

    @Test("eight bytes at once give the same result as one at a time, whatever is beside them")
    func words() {
        for neighbor: UInt8 in [0x00, 0x1F, 0x20, 0x2D, 0x41, 0x5A, 0x61, 0x7A, 0x7E, 0x7F, 0x80, 0xFF] {
            for place in 0..<8 {
                for byte in UInt8.min...UInt8.max {
                    var bytes = [UInt8](repeating: neighbor, count: 8)
                    bytes[place] = byte
                    let word = bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
                    #expect(word.bytesBeforeControl == bytes.prefix { $0 >= 0x20 && $0 != 0x7F }.count)
                }
            }
        }
    }

    private static func isSame(_ bytes: some Collection<UInt8>, _ text: StaticString) -> Bool {
        Array(bytes).span.equalsIgnoringCase(text)
    }

    @Test("text is compared ignoring case, and all other bytes differ")
    func cases() {
        for text: StaticString in ["websocket", "sec-websocket-protocol", "fido.cable", "upgrade"] {
            let lower = text.withUTF8Buffer { Array($0) }
            let upper = Array(String(decoding: lower, as: UTF8.self).uppercased().utf8)
            #expect(Self.isSame(lower, text) && Self.isSame(upper, text))
            for place in lower.indices {
                for byte in UInt8.min...UInt8.max where byte != lower[place] && byte != upper[place] {
                    var other = lower
                    other[place] = byte
                    #expect(!other[...].equalsIgnoringCase(text), "\(byte)")
                    // A request head contains no control characters.
                    if byte >= 0x20 { #expect(!Self.isSame(other, text), "\(byte)") }
                }
            }
            #expect(!Self.isSame(lower.dropLast(), text))
            #expect(!Self.isSame(lower + lower, text))
        }
    }
}
