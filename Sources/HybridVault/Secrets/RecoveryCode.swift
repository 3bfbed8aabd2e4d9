// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// 128 random bits on paper, which open a copy of the vault anywhere.
///
/// Written as 30 characters in six groups of five: 128 bits and a checksum of 22, five bits to a character, so
/// that a typing error is told before any slow work. The alphabet is Crockford's: digits and letters without
/// I, L, O and U; on reading I and L are 1, O is 0, and neither case nor spaces nor hyphens matter.
public struct RecoveryCode: Sendable {
    /// How many characters there are, hyphens aside.
    public static let characters = 30

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let label = Array("recovery code v1".utf8)

    private let key: SymmetricKey

    /// A fresh one from the system's random source.
    public static func random() -> RecoveryCode { RecoveryCode(key: SymmetricKey(size: .bits128)) }

    private init(key: SymmetricKey) { self.key = key }

    /// Takes exactly 16 bytes; anything else is `nil`.
    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.key = SymmetricKey(data: bytes)
    }

    /// Why a text is not a recovery code.
    public enum Refusal: Error, Equatable, Sendable {
        /// It has another number of characters, or one that no code has: probably a passphrase.
        case notACode
        /// It looks like a code, but the checksum says that a character is wrong; rarely it is a passphrase that
        /// happens to look like one.
        case mistyped
    }

    /// Reads what a person typed.
    public init(reading text: UnsafeRawBufferPointer) throws(Refusal) {
        var values: [UInt8] = []
        defer { values.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) } }
        values.reserveCapacity(Self.characters)
        for byte in text where byte != UInt8(ascii: " ") && byte != UInt8(ascii: "-") {
            guard values.count < Self.characters, let value = Self.value(of: byte) else { throw .notACode }
            values.append(value)
        }
        guard values.count == Self.characters else { throw .notACode }
        var bytes = [UInt8](repeating: 0, count: 19)
        defer { bytes.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) } }
        for bit in 0..<150 where values[bit / 5] >> UInt8(4 - bit % 5) & 1 == 1 {
            bytes[bit / 8] |= 0x80 >> UInt8(bit % 8)
        }
        let code = SymmetricKey(data: bytes[..<16])
        guard Self.checksum(code) == Array(bytes[16...]) else {
            // One code in a hundred thousand has no digit; five words of thirty letters never have one.
            throw text.contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? .mistyped : .notACode
        }
        self.key = code
    }

    /// The code as it is shown, once: six groups of five with hyphens between.
    public var text: String {
        var bytes = [UInt8](repeating: 0, count: 19)
        defer { bytes.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) } }
        key.withUnsafeBytes { key in bytes.withUnsafeMutableBytes { $0.copyMemory(from: key) } }
        bytes.replaceSubrange(16..., with: Self.checksum(key))
        var text: [UInt8] = []
        text.reserveCapacity(Self.characters + 5)
        defer { text.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) } }
        for index in 0..<Self.characters {
            if index > 0, index.isMultiple(of: 5) { text.append(UInt8(ascii: "-")) }
            var value = 0
            for bit in (index * 5)..<(index * 5 + 5) {
                value = value << 1 | Int(bytes[bit / 8] >> UInt8(7 - bit % 8) & 1)
            }
            text.append(Self.alphabet[value])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Lends the 16 bytes.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }

    /// The first 22 bits of SHA-256(label ‖ code), and two zeros.
    private static func checksum(_ code: SymmetricKey) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: label)
        code.withUnsafeBytes { hash.update(bufferPointer: $0) }
        var bytes = Array(hash.finalize().prefix(3))
        bytes[2] &= 0xFC
        return bytes
    }

    private static func value(of character: UInt8) -> UInt8? {
        let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character) ? character - 32 : character
        switch upper {
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        case UInt8(ascii: "O"): return 0
        default: return alphabet.firstIndex(of: upper).map { UInt8($0) }
        }
    }
}

extension RecoveryCode: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "RecoveryCode(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
