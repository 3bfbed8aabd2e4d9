// SPDX-License-Identifier: Apache-2.0

/// Lines of the Assuan protocol (libassuan manual, "Assuan Protocol Specification").
enum AssuanLine {
    /// Maximum length of a sent line in bytes, including its line feed.
    static let maximumSent = 1000
    /// Maximum length of a received line in bytes.
    static let maximumReceived = 4096

    /// Kinds of lines from the program.
    ///
    /// The content of data lines is not included, because it is secret.
    enum Reply: Equatable {
        case ok
        case error(code: Int)
        case data
        case status(String)
        case inquiry
        case comment
        case invalid
    }

    /// Error codes of libgpg-error that distinguish answers: the low 16 bits of the number after `ERR`.
    enum Code {
        static let timedOut = 62
        static let cancelled = 99
        static let notConfirmed = 114
        static let localeProblem = 166
        static let fullyCancelled = 198
    }

    /// Returns the kind of a line.
    static func parse(_ line: UnsafeRawBufferPointer) -> Reply {
        let word = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = line.dropFirst(word.count + 1)
        // Compared by bytes: Swift treats canonically equivalent strings as equal, such as K and the kelvin sign.
        func isWord(_ text: StaticString) -> Bool { text.withUTF8Buffer { word.elementsEqual($0) } }
        if word.isEmpty || word.first == UInt8(ascii: "#") { return .comment }
        if isWord("OK") { return .ok }
        if isWord("D") { return line.count > word.count ? .data : .invalid }
        if isWord("S") { return .status(String(decoding: rest.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)) }
        if isWord("INQUIRE") { return .inquiry }
        guard isWord("ERR") else { return .invalid }
        let digits = String(decoding: rest.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        guard let number = UInt32(digits) else { return .invalid }
        return .error(code: Int(number & 0xFFFF))
    }

    /// Returns the line of a command with its escaped text; `nil` if the line would be too long.
    ///
    /// Line feeds become `%0A`. Other control characters are dropped, in case the caller did not remove them.
    static func command(_ command: String, _ text: String? = nil) -> [UInt8]? {
        var line = Array(command.utf8)
        if let text {
            line.append(UInt8(ascii: " "))
            for scalar in text.unicodeScalars {
                switch scalar {
                case "%": line += "%25".utf8
                case "\n": line += "%0A".utf8
                case let scalar where scalar.properties.generalCategory == .control: continue
                case let scalar: line += String(scalar).utf8
                }
            }
        }
        line.append(UInt8(ascii: "\n"))
        return line.count <= maximumSent ? line : nil
    }
}
