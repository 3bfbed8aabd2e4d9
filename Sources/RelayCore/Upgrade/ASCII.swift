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

    /// Without spaces and tabs at both ends.
    func trimmingBlanks() -> ArraySlice<UInt8> {
        var rest = self
        while let first = rest.first, first.isBlank { rest.removeFirst() }
        while let last = rest.last, last.isBlank { rest.removeLast() }
        return rest
    }
}

extension UInt8 {
    /// A space or a tab.
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// The lower-case letter of an upper-case one; anything else as it is.
    fileprivate var asciiLowercase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    /// Whether the byte may stand in a token (RFC 9110 §5.6.2).
    var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
