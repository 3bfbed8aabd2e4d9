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

    /// Whether these are the bytes of `text`, in either case of letters.
    ///
    /// `text` has lower-case letters, digits, hyphens and dots; these bytes have no control characters, as lines of a head.
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let start = UnsafeRawPointer(text.utf8Start)
        // The bit that tells cases apart is set in all that `text` may have; what else it would make equal to that is a
        // control character.
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

extension UInt8 {
    /// A space or a tab.
    var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// The lower-case letter of an upper-case one; anything else as it is.
    var asciiLowercase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    /// Whether the byte may stand in a token (RFC 9110 §5.6.2): letters, digits and ``!#$%&'*+-.^_`|~``.
    var isTokenCharacter: Bool {
        // A bit for each character of ASCII; numbers, as a table made at the start would be asked for at every byte.
        let bits: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return self < 128 && bits >> UInt64(self & 63) & 1 == 1
    }
}

extension UInt64 {
    /// How many of its eight bytes, the lowest first, stand before one that is neither a letter nor a hyphen; 8 if all are.
    var lettersAndHyphens: Int {
        let tops: UInt64 = 0x8080_8080_8080_8080
        // No sum of two bytes below goes beyond its byte, as the top bits are gone.
        let lower = (self | 0x2020_2020_2020_2020) & ~tops
        let isLetter = (lower &+ 0x1F1F_1F1F_1F1F_1F1F) & ~(lower &+ 0x0505_0505_0505_0505)
        let isNoHyphen = ((self ^ 0x2D2D_2D2D_2D2D_2D2D) & ~tops) &+ 0x7F7F_7F7F_7F7F_7F7F
        let others = (~(isLetter | ~isNoHyphen) | self) & tops
        return others.trailingZeroBitCount / 8
    }

    /// How many of its eight bytes, the lowest first, stand before a control character of ASCII; 8 if there is none.
    var bytesBeforeControl: Int {
        let tops: UInt64 = 0x8080_8080_8080_8080
        // The top bit of each byte below a space, and of each that is DEL. What is borrowed from the next byte makes
        // mistakes above such a byte only, never below the lowest.
        let low = (self &- 0x2020_2020_2020_2020) & ~self & tops
        let delete = self ^ 0x7F7F_7F7F_7F7F_7F7F
        let deletes = (delete &- 0x0101_0101_0101_0101) & ~delete & tops
        return (low | deletes).trailingZeroBitCount / 8
    }
}
