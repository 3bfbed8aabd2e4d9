// SPDX-License-Identifier: Apache-2.0

internal import HybridPinentry
internal import HybridPrimitives

/// A line from the program: a strict JSON object with known members only, each at most once.
///
/// A line may contain a PIN. Therefore it has a parser of its own, which never copies a text to memory that is not wiped.
struct AskLine {
    /// Maximum length of a received line in bytes.
    static let maximumReceived = 8 << 10

    /// The version of the protocol that the program speaks, once it is ready.
    private(set) var ready: Int?
    /// The number of the question that is answered.
    private(set) var answer: Int?
    private(set) var pin: PinentrySecret?
    private(set) var secret: PinentrySecret?
    private(set) var account: Int?
    private(set) var agree: Bool?
    private(set) var decline: Bool?
    /// The name that the user gives what the question is about, together with ``agree``.
    private(set) var name: PinentrySecret?

    /// Parses a line without its end; `nil` for any other text than such an object.
    init?(_ line: UnsafeRawBufferPointer) {
        var scanner = AskScanner(line)
        guard scanner.isUTF8, scanner.take("{") else { return nil }
        repeat {
            guard let name = scanner.string(), scanner.take(":"), take(name, from: &scanner) else { return nil }
        } while scanner.take(",")
        guard scanner.take("}"), scanner.isAtEnd else { return nil }
    }

    /// Takes the value of a member; returns false if the name is unknown or repeated, or the value of another type.
    private mutating func take(_ name: PinentrySecret, from scanner: inout AskScanner) -> Bool {
        func isName(_ text: StaticString) -> Bool {
            name.withUnsafeBytes { bytes in text.withUTF8Buffer { $0.elementsEqual(bytes) } }
        }
        func set<Value>(_ member: inout Value?, _ value: Value?) -> Bool {
            guard member == nil, let value else { return false }
            member = value
            return true
        }
        if isName("ready") { return set(&ready, scanner.number()) }
        if isName("answer") { return set(&answer, scanner.number()) }
        if isName("account") { return set(&account, scanner.number()) }
        if isName("agree") { return set(&agree, scanner.boolean()) }
        if isName("decline") { return set(&decline, scanner.boolean()) }
        if isName("pin") { return set(&pin, scanner.string()) }
        if isName("secret") { return set(&secret, scanner.string()) }
        if isName("name") { return set(&self.name, scanner.string()) }
        return false
    }

    /// True if the line is the greeting of a version.
    func isGreeting(of version: Int) -> Bool {
        ready == version && answer == nil && pin == nil && secret == nil && account == nil && agree == nil
            && decline == nil && name == nil
    }

    /// Returns the answer to a question of this form.
    ///
    /// - Throws: ``AskRefusal/declined`` if the user declined, and for anything but exactly one answer of that form.
    func answer(to form: AskQuestion.Form) throws(AskRefusal) -> AskAnswer {
        let others = [ready == nil, pin == nil, secret == nil, account == nil, agree == nil, decline == nil]
        guard answer != nil, others.count(where: { !$0 }) == 1 else { throw .declined }
        guard name == nil || form == .namedAgreement else { throw .declined }
        switch form {
        case .pin: if let pin { return .typed(pin) }
        case .secret: if let secret { return .typed(secret) }
        case .account(let count): if let account, account < count { return .account(account) }
        case .agreement: if agree == true { return .agreed }
        case .namedAgreement: if agree == true { return name.map(AskAnswer.named) ?? .agreed }
        }
        throw .declined
    }
}

/// A reader of the tokens of a line, in memory that its owner wipes.
private struct AskScanner {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// True if all bytes together are UTF-8.
    var isUTF8: Bool {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }

    /// True if only white space follows.
    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position == bytes.count
        }
    }

    /// Skips white space and takes a character; returns false if another one follows.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        return takeByte(UInt8(ascii: character))
    }

    /// Takes a whole number of at most nine digits; `nil` if something else follows.
    mutating func number() -> Int? {
        skipSpace()
        let start = position
        var number = 0
        while position < bytes.count, position - start < 9, case let digit = bytes[position], 0x30...0x39 ~= digit {
            number = number * 10 + Int(digit - 0x30)
            position += 1
        }
        let hasLeadingZero = position - start > 1 && bytes[start] == UInt8(ascii: "0")
        return position == start || hasLeadingZero ? nil : number
    }

    /// Takes `true` or `false`; `nil` if something else follows.
    mutating func boolean() -> Bool? {
        skipSpace()
        if takeWord("true") { return true }
        return takeWord("false") ? false : nil
    }

    /// Takes a string; `nil` if something else follows, or if it is longer than a secret.
    mutating func string() -> PinentrySecret? {
        guard take("\"") else { return nil }
        let text = PinentrySecret()
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"): guard let scalar = escape(), append(scalar, to: text) else { return nil }
            case 0..<0x20: return nil
            default:
                let isAppended = withUnsafeBytes(of: byte) { text.append($0) }
                guard isAppended else { return nil }
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        switch next() {
        case UInt8(ascii: "\"")?: "\""
        case UInt8(ascii: "\\")?: "\\"
        case UInt8(ascii: "/")?: "/"
        case UInt8(ascii: "b")?: "\u{8}"
        case UInt8(ascii: "f")?: "\u{C}"
        case UInt8(ascii: "n")?: "\n"
        case UInt8(ascii: "r")?: "\r"
        case UInt8(ascii: "t")?: "\t"
        case UInt8(ascii: "u")?: escapedScalar()
        default: nil
        }
    }

    /// Takes four digits, or a pair of surrogates; `nil` for a surrogate without its pair.
    private mutating func escapedScalar() -> Unicode.Scalar? {
        guard let unit = codeUnit() else { return nil }
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), takeByte(UInt8(ascii: "\\")), takeByte(UInt8(ascii: "u")),
            let trail = codeUnit(), UTF16.isTrailSurrogate(trail)
        else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trail) - 0xDC00))
    }

    private mutating func codeUnit() -> UInt16? {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next(), let digit = Hex.value(of: byte) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// Appends the UTF-8 of a character, without a string that would not be wiped.
    private func append(_ scalar: Unicode.Scalar, to text: PinentrySecret) -> Bool {
        guard let encoded = UTF8.encode(scalar) else { return false }
        for byte in encoded {
            let isAppended = withUnsafeBytes(of: byte) { text.append($0) }
            guard isAppended else { return false }
        }
        return true
    }

    private mutating func takeWord(_ word: StaticString) -> Bool {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
        guard word.withUTF8Buffer({ rest.starts(with: $0) }) else { return false }
        position += word.utf8CodeUnitCount
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    private mutating func takeByte(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func next() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }
}
