// SPDX-License-Identifier: Apache-2.0

extension ArraySlice<UInt8> {
    /// Returns true if these are the bytes of `text`.
    func equals(_ text: StaticString) -> Bool { span.equals(text) }

    /// Returns true if these are the bytes of `text`, ignoring case; `text` must be in lower case.
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in elementsEqual(text) { $0.asciiLowercase == $1 } }
    }
}

extension Span<UInt8> {
    /// Returns true if these are the bytes of `text`.
    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let start = text.utf8Start
        for index in indices where self[index] != start[index] { return false }
        return true
    }

    /// Returns true if these are the bytes of `text`, ignoring case.
    ///
    /// `text` must consist of lower-case letters, digits, hyphens and dots. The span must not contain control
    /// characters.
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let start = UnsafeRawPointer(text.utf8Start)
        // All bytes of `text` have the bit 0x20, which distinguishes lower case from upper case. Apart from upper-case
        // letters, only control characters become equal to them when the bit is set.
        var index = 0
        while index + 8 <= count {
            let word = bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self)
            let other = start.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word | 0x2020_2020_2020_2020 == other else { return false }
            index += 8
        }
        while index < count {
            guard self[index] | 0x20 == start.load(fromByteOffset: index, as: UInt8.self) else { return false }
            index += 1
        }
        return true
    }
}

extension RawSpan {
    /// Returns the byte at an offset, which must be valid.
    @inline(__always) func byte(at offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
}

extension [UInt8] {
    /// Creates an array with a copy of the bytes.
    init(copying bytes: RawSpan) { self = bytes.withUnsafeBytes { Array($0) } }

    /// Appends a copy of the bytes.
    mutating func append(copying bytes: RawSpan) { bytes.withUnsafeBytes { append(contentsOf: $0) } }
}

extension UInt8 {
    /// True for a space or a tab.
    var isBlank: Bool { self == 0x20 || self == 0x09 }

    var isDigit: Bool { (0x30...0x39).contains(self) }

    var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }

    /// The lower-case letter of an upper-case one; other bytes unchanged.
    var asciiLowercase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    /// True if the byte may occur in a token (RFC 9110 §5.6.2): letters, digits and ``!#$%&'*+-.^_`|~``.
    var isTokenCharacter: Bool {
        // One bit for each ASCII character. Two constants, because access to a global table costs more than the test.
        let bits: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return self < 128 && bits >> UInt64(self & 63) & 1 == 1
    }

    /// True for all bytes except ASCII control characters other than tab.
    var isFieldCharacter: Bool { self >= 0x20 && self != 0x7F || self == 0x09 }
}

extension Int {
    /// Parses a number from 0 to `maximum` in decimal digits without leading zeros; `nil` for other text.
    init?(digits: some Collection<UInt8>, maximum: Int) {
        guard !digits.isEmpty, digits.count == 1 || digits.first != UInt8(ascii: "0"), digits.allSatisfy(\.isDigit),
            let number = Int(String(decoding: digits, as: UTF8.self)), number <= maximum
        else { return nil }
        self = number
    }
}

extension UInt64 {
    /// The number of bytes, counted from the lowest, before the first that is neither a letter nor a hyphen; 8 if there is
    /// none.
    var lettersAndHyphens: Int {
        let tops: UInt64 = 0x8080_8080_8080_8080
        // The top bits are cleared, so none of the following sums carries into the next byte.
        let lower = (self | 0x2020_2020_2020_2020) & ~tops
        let letters = (lower &+ 0x1F1F_1F1F_1F1F_1F1F) & ~(lower &+ 0x0505_0505_0505_0505)
        let notHyphens = ((self ^ 0x2D2D_2D2D_2D2D_2D2D) & ~tops) &+ 0x7F7F_7F7F_7F7F_7F7F
        let others = (~(letters | ~notHyphens) | self) & tops
        return others.trailingZeroBitCount / 8
    }

    /// The number of bytes, counted from the lowest, before the first ASCII control character; 8 if there is none.
    var bytesBeforeControl: Int {
        let tops: UInt64 = 0x8080_8080_8080_8080
        // Sets the top bit of each byte below a space, and of each DEL. A borrow from the next byte causes false
        // positives only above such a byte, never below the lowest.
        let low = (self &- 0x2020_2020_2020_2020) & ~self & tops
        let delete = self ^ 0x7F7F_7F7F_7F7F_7F7F
        let deletes = (delete &- 0x0101_0101_0101_0101) & ~delete & tops
        return (low | deletes).trailingZeroBitCount / 8
    }
}
