// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import Testing

@Suite("Base64url")
struct Base64URLTests {
    @Test(
        "the vectors of RFC 4648, without padding",
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func rfc4648(plain: String, text: String) {
        #expect(Base64URL.encode(plain.utf8) == text)
        #expect(Base64URL.decode(text) == Array(plain.utf8))
    }

    @Test("every byte survives in every position")
    func roundTrip() {
        for byte in UInt8.min...UInt8.max {
            for bytes in [[byte], [0xFF, byte], [0, 0xFF, byte], [byte, byte, byte, byte]] {
                #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            }
        }
        #expect(Base64URL.encode([0xFB, 0xEF, 0xFF]) == "--__")
    }

    @Test(
        "padding, the base64 alphabet, white space and other characters are rejected",
        arguments: [
            "Zg==", "Zm8=", "=", "Zm9v=", "++//", "Zm 9v", "Zm9v\n", "Zm9*", "Z", "Zm9vY", "Zh", "Zm9", "Zmé", "Zm9v\0",
        ]
    )
    func refused(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
