// SPDX-License-Identifier: Apache-2.0

/// The text of a QR code: a scheme, followed by decimal digits that encode a CBOR map.
///
/// The scheme is written in upper case, so that the code can use the compact alphanumeric and numeric modes.
enum CodeText {
    /// The scheme of a text, which names its use.
    enum Scheme: String, CaseIterable {
        /// A sign-in or another request of FIDO's hybrid transport.
        case signIn = "FIDO:/"
        /// A transfer.
        case transfer = "HYBRID:/"
    }

    /// A reason why a text contains no bytes.
    enum Fault: Error, Equatable {
        /// The text does not begin with the expected scheme, but perhaps with another one.
        case scheme(Scheme?)
        /// The digits are damaged, truncated, or longer than in any code.
        case damaged
    }

    /// Returns the text for an encoded map.
    static func text(_ scheme: Scheme, _ bytes: [UInt8]) -> String { scheme.rawValue + DigitCoding.encode(bytes) }

    /// Returns the encoded map of a text: a scheme in either case, and ASCII digits; the text may end a line.
    ///
    /// One more slash is accepted, because programs that pass URLs on write `fido://` and the digits.
    static func bytes(of text: some StringProtocol, expecting scheme: Scheme) throws(Fault) -> [UInt8] {
        // Programs that draw codes leave the end of a line there.
        var characters = Array(text.utf8.prefix(Limits.qrTextCharacters + 4))
        while let last = characters.last, last == 0x0A || last == 0x0D { characters.removeLast() }
        guard begins(characters, with: scheme) else {
            throw .scheme(Scheme.allCases.first { begins(characters, with: $0) })
        }
        let length = scheme.rawValue.utf8.count
        if characters.count > length, characters[length] == UInt8(ascii: "/") { characters.remove(at: length) }
        guard characters.count <= Limits.qrTextCharacters,
            let bytes = DigitCoding.decode(characters.dropFirst(length)), !bytes.isEmpty
        else { throw .damaged }
        return bytes
    }

    /// Returns the text in a line, which a byte order mark or white space may precede and white space may follow.
    static func text(inLine line: String) -> String {
        let start = line.unicodeScalars.drop { $0 == "\u{FEFF}" || $0.value <= 0x20 }
        return String(String.UnicodeScalarView(start.prefix { $0.value > 0x20 }))
    }

    private static func begins(_ characters: [UInt8], with scheme: Scheme) -> Bool {
        let start = characters.prefix(scheme.rawValue.utf8.count)
        return String(decoding: start, as: UTF8.self).uppercased() == scheme.rawValue
    }
}
