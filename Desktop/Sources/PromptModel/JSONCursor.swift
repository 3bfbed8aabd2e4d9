// SPDX-License-Identifier: Apache-2.0

/// A position in JSON text that moves over one element at a time; every access is within bounds.
struct JSONCursor {
    /// The error for text that is not JSON, or that exceeds a limit.
    struct Malformed: Error {}

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    /// Creates a position at the beginning of `bytes`, which must outlive it.
    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { position >= bytes.count }

    private var next: UInt8? { isAtEnd ? nil : bytes[position] }

    /// Requires that all bytes are valid UTF-8.
    func requireUTF8() throws(Malformed) {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue: continue
            case .emptyInput: return
            case .error: throw Malformed()
            }
        }
    }

    mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    /// Moves behind one character and the white space on both sides of it.
    mutating func skip(_ character: Unicode.Scalar) throws(Malformed) {
        skipSpace()
        guard take(character) else { throw Malformed() }
        skipSpace()
    }

    /// Moves behind `first`, the elements separated by commas, and `last`.
    mutating func skipList(
        from first: Unicode.Scalar,
        to last: Unicode.Scalar,
        _ skipElement: (inout JSONCursor) throws(Malformed) -> Void
    ) throws(Malformed) {
        guard take(first) else { throw Malformed() }
        skipSpace()
        if take(last) { return }
        while true {
            skipSpace()
            try skipElement(&self)
            skipSpace()
            if take(last) { return }
            guard take(",") else { throw Malformed() }
        }
    }

    /// Moves behind a value and returns its range, which includes the quotation marks of a text.
    mutating func skipValue(depth: Int) throws(Malformed) -> Range<Int> {
        guard depth > 0 else { throw Malformed() }
        let start = position
        switch next {
        case UInt8(ascii: "\""): return try skipString()
        case UInt8(ascii: "{"):
            try skipList(from: "{", to: "}") { (cursor) throws(Malformed) in
                _ = try cursor.skipString()
                try cursor.skip(":")
                _ = try cursor.skipValue(depth: depth - 1)
            }
        case UInt8(ascii: "["):
            try skipList(from: "[", to: "]") { (cursor) throws(Malformed) in
                _ = try cursor.skipValue(depth: depth - 1)
            }
        case UInt8(ascii: "t"): try skipWord("true")
        case UInt8(ascii: "f"): try skipWord("false")
        case UInt8(ascii: "n"): try skipWord("null")
        default: try skipNumber()
        }
        return start..<position
    }

    /// Moves behind a text and returns its range with the quotation marks.
    mutating func skipString() throws(Malformed) -> Range<Int> {
        let start = position
        guard take("\"") else { throw Malformed() }
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return start..<position
            case UInt8(ascii: "\\"): try skipEscape()
            case ..<0x20: throw Malformed()
            default: continue
            }
        }
        throw Malformed()
    }

    /// Returns the characters of a text that ``skipString()`` has accepted, in UTF-8.
    func unescaped(_ range: Range<Int>) -> [UInt8] {
        var result: [UInt8] = []
        // An array that grows would leave copies behind.
        result.reserveCapacity(range.count)
        var cursor = self
        cursor.position = range.lowerBound + 1
        while cursor.position < range.upperBound - 1, let byte = cursor.next {
            cursor.position += 1
            if byte == UInt8(ascii: "\\") {
                guard let scalar = try? cursor.takeEscape() else { return result }
                result += UTF8.encode(scalar).map(Array.init) ?? []
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = next, UInt32(byte) == character.value else { return false }
        position += 1
        return true
    }

    private mutating func skipWord(_ word: String) throws(Malformed) {
        for scalar in word.unicodeScalars {
            guard take(scalar) else { throw Malformed() }
        }
    }

    private mutating func skipEscape() throws(Malformed) { _ = try takeEscape() }

    /// Moves behind an escape sequence, of which the reverse solidus has been read, and returns its character.
    private mutating func takeEscape() throws(Malformed) -> Unicode.Scalar {
        guard let byte = next else { throw Malformed() }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let unit = try takeUnit()
            if let scalar = Unicode.Scalar(unit) { return scalar }
            // Half of a pair must be followed by the other half.
            guard take("\\"), take("u") else { throw Malformed() }
            let pair = [unit, try takeUnit()]
            guard let text = String(validating: pair, as: UTF16.self), let scalar = text.unicodeScalars.first else {
                throw Malformed()
            }
            return scalar
        default: throw Malformed()
        }
    }

    private mutating func takeUnit() throws(Malformed) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw Malformed() }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    private mutating func skipNumber() throws(Malformed) {
        _ = take("-")
        if !take("0") { try skipDigits() }
        if take(".") { try skipDigits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(Malformed) {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw Malformed() }
    }
}
