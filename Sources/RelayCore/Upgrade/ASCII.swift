// SPDX-License-Identifier: Apache-2.0

/// Comparisons of ASCII text in request heads.
extension ArraySlice<UInt8> {
    /// Whether these are the bytes of `text`.
    func equals(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { elementsEqual($0) }
    }

    /// Whether these are the bytes of `text`, which is in lower case, in either case.
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { elementsEqual($0) { $0.asciiLowercase == $1 } }
    }
}

extension Span<UInt8> {
    /// Whether these are the bytes of `text`.
    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let start = text.utf8Start
        for index in indices where self[index] != start[index] { return false }
        return true
    }

    /// Whether these are the bytes of `text`, which is in lower case, in either case.
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let start = text.utf8Start
        for index in indices where self[index].asciiLowercase != start[index] { return false }
        return true
    }
}

extension UInt8 {
    /// A space or a tab.
    var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// The lower-case letter of an upper-case one; anything else as it is.
    fileprivate var asciiLowercase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    /// Whether the byte may stand in a token (RFC 9110 §5.6.2).
    var isTokenCharacter: Bool {
        let bits = self < 64 ? Self.tokenBits.low : Self.tokenBits.high
        return self < 128 && bits >> UInt64(self & 63) & 1 == 1
    }

    /// A bit for each character of ASCII that may stand in a token.
    private static let tokenBits: (low: UInt64, high: UInt64) = {
        let others = Array("!#$%&'*+-.^_`|~".utf8)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        var bits: (low: UInt64, high: UInt64) = (0, 0)
        for byte in UInt8(0)..<128 where digits.contains(byte) || others.contains(byte) {
            if byte < 64 { bits.low |= 1 << UInt64(byte) } else { bits.high |= 1 << UInt64(byte - 64) }
        }
        for letter in letters { bits.high |= 1 << UInt64(letter - 64) | 1 << UInt64(letter - 32 - 64) }
        return bits
    }()
}
