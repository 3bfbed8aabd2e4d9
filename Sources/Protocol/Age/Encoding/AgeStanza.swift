// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A stanza: a type, arguments and a body, in the header of an age file and in the plug-in protocol (C2SP `age.md`).
///
///     -> TYPE ARGUMENT ARGUMENT
///     BODY in base64 without padding, lines of 64 characters; the last line is shorter, and may be empty
package struct AgeStanza: Hashable, Sendable {
    /// The type, or the name of a command.
    package let type: String
    /// The arguments behind the type.
    package let arguments: [String]
    /// The body.
    package let body: [UInt8]

    /// Creates a stanza.
    ///
    /// - Parameters:
    ///   - type: The type: visible ASCII without spaces.
    ///   - arguments: The arguments: visible ASCII without spaces, not empty.
    ///   - body: The body.
    package init(_ type: String, _ arguments: [String] = [], body: [UInt8] = []) {
        (self.type, self.arguments, self.body) = (type, arguments, body)
    }

    /// Creates a stanza whose body is a text, such as a message.
    package init(_ type: String, _ arguments: [String] = [], text: String) {
        self.init(type, arguments, body: Array(text.utf8))
    }

    /// Length of a full line of a body in characters.
    static let lineLength = 64

    /// The encoding with all line ends.
    package var encoded: [UInt8] {
        var bytes = Array(([Self.start, type] + arguments).joined(separator: " ").utf8) + [Self.lineEnd]
        let digits = Base64.encodeUnpadded(body)
        var rest = digits[...]
        while rest.count >= Self.lineLength {
            bytes += rest.prefix(Self.lineLength) + [Self.lineEnd]
            rest = rest.dropFirst(Self.lineLength)
        }
        return bytes + rest + [Self.lineEnd]
    }

    fileprivate static let start = "->"
    fileprivate static let lineEnd = UInt8(ascii: "\n")
}

/// A reader that assembles stanzas from lines.
struct StanzaAssembler {
    private var head: (type: String, arguments: [String])?
    private var body: [UInt8] = []

    /// True before the first line of a stanza.
    var isBetweenStanzas: Bool { head == nil }

    /// Adds a line without its line end.
    ///
    /// - Returns: The stanza that ends with this line; `nil` if more lines follow.
    /// - Throws: ``AgeFormatError/stanza``.
    mutating func add(_ line: ArraySlice<UInt8>) throws(AgeFormatError) -> AgeStanza? {
        guard let head else {
            let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            guard words.count >= 2, words[0].elementsEqual(AgeStanza.start.utf8),
                words[1...].allSatisfy({ !$0.isEmpty && $0.allSatisfy { (33...126).contains($0) } })
            else { throw .stanza }
            let texts = words[1...].map { String(decoding: $0, as: UTF8.self) }
            self.head = (texts[0], Array(texts[1...]))
            return nil
        }
        guard line.count <= AgeStanza.lineLength, let bytes = Base64.decodeUnpadded(line) else { throw .stanza }
        body += bytes
        guard line.count < AgeStanza.lineLength else { return nil }
        defer { (self.head, body) = (nil, []) }
        return AgeStanza(head.type, head.arguments, body: body)
    }
}

/// A reason why a text is not what age or a plug-in defines.
package struct AgeFormatError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Lines are not a stanza.
    package static let stanza = AgeFormatError("lines are not a stanza")
    /// A file does not begin with the header of an age file.
    package static let header = AgeFormatError("there is no header of an age file")
    /// A stanza of a known type has other arguments, or another length.
    package static let knownStanza = AgeFormatError("a stanza has different contents from those of its type")
    /// A text is not the identity of a passkey, or of a key that a phone opens.
    package static let identity = AgeFormatError("the identity is malformed")
    /// The version of an identity is not known here.
    package static let identityVersion = AgeFormatError("the identity has a newer version; update this program")
    /// A text is not a secret key of age.
    package static let secretKey = AgeFormatError("there is no key AGE-SECRET-KEY-1…")
    /// A text is not a public key of age.
    package static let recipient = AgeFormatError("the recipient is not age1… with 62 characters")

    /// The cause.
    package let description: String

    private init(_ description: String) { self.description = description }
}
