// SPDX-License-Identifier: Apache-2.0

/// Lines of the Assuan protocol (libassuan manual, "Assuan Protocol Specification").
enum AssuanLine {
    /// The longest line we send, in bytes, its line feed included.
    static let maximumSent = 1000
    /// The longest line we take, in bytes.
    static let maximumReceived = 4096

    /// What a line from the program means; data are kept apart, because they are secret.
    enum Reply: Equatable {
        case ok
        case error(code: Int)
        case data
        case status(String)
        case inquiry
        case comment
        case nonsense
    }

    /// Error codes of libgpg-error that tell answers apart: the low 16 bits of what `ERR` says.
    enum Code {
        static let timedOut = 62
        static let cancelled = 99
        static let notConfirmed = 114
        static let localeProblem = 166
        static let fullyCancelled = 198
    }

    /// Reads the kind of a line.
    static func parse(_ line: UnsafeRawBufferPointer) -> Reply {
        let word = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = line.dropFirst(word.count + 1)
        // By bytes: Swift calls texts equal that Unicode calls equivalent, K and the sign for kelvin among them.
        func isWord(_ text: StaticString) -> Bool { text.withUTF8Buffer { word.elementsEqual($0) } }
        if word.isEmpty || word.first == UInt8(ascii: "#") { return .comment }
        if isWord("OK") { return .ok }
        if isWord("D") { return line.count > word.count ? .data : .nonsense }
        if isWord("S") { return .status(String(decoding: rest.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)) }
        if isWord("INQUIRE") { return .inquiry }
        guard isWord("ERR") else { return .nonsense }
        let digits = String(decoding: rest.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        guard let number = UInt32(digits) else { return .nonsense }
        return .error(code: Int(number & 0xFFFF))
    }

    /// A command with its text, escaped; `nil` when it is longer than a line may be.
    ///
    /// Line feeds are kept as `%0A`; all other control characters are dropped, whatever the caller let through.
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
