// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A secret of 128 random bits, to be written on paper, which opens any copy of the vault.
///
/// A code has 30 characters of five bits each, in six groups of five: the secret and a checksum of 22 bits. The
/// checksum detects a typing error before the slow key derivation. The alphabet is Crockford's: digits and letters
/// without I, L, O and U. On input, I and L are read as 1 and O as 0; case, spaces and hyphens do not matter.
package struct RecoveryCode: Sendable, SecretMaterial {
    /// Number of characters without hyphens.
    package static let characters = 30

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let label = Array("recovery code v1".utf8)

    let key: SymmetricKey

    /// Returns a new code from the system's random source.
    package static func random() -> RecoveryCode { RecoveryCode(key: SymmetricKey(size: .bits128)) }

    /// Creates a code from exactly 16 bytes.
    init(key: SymmetricKey) {
        precondition(key.bitCount == 128)
        self.key = key
    }

    /// An error of ``init(reading:)``; later versions may add values.
    package struct ParseError: Error, Hashable {
        private let name: String

        /// The input is not a code but probably a passphrase: it has another length, other characters or no digit.
        package static let notACode = ParseError(name: "not-a-code")
        /// The checksum is wrong because of a typing error, or rarely because the input is a passphrase.
        package static let mistyped = ParseError(name: "mistyped")
    }

    /// Parses a code as the user typed it.
    package init(reading text: UnsafeRawBufferPointer) throws(ParseError) {
        var values: [UInt8] = []
        defer { SecretBytes.wipe(&values) }
        values.reserveCapacity(Self.characters)
        for byte in text where byte != UInt8(ascii: " ") && byte != UInt8(ascii: "-") {
            guard values.count < Self.characters, let value = Self.value(of: byte) else { throw .notACode }
            values.append(value)
        }
        guard values.count == Self.characters else { throw .notACode }
        var bytes = [UInt8](repeating: 0, count: 19)
        defer { SecretBytes.wipe(&bytes) }
        for bit in 0..<150 where values[bit / 5] >> UInt8(4 - bit % 5) & 1 == 1 {
            bytes[bit / 8] |= 0x80 >> UInt8(bit % 8)
        }
        let code = SymmetricKey(data: bytes[..<16])
        guard Self.checksum(code) == Array(bytes[16...]) else {
            // Only about one code in 76,000 has no digit, but a passphrase of 30 letters never has one.
            throw text.contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? .mistyped : .notACode
        }
        self.key = code
    }

    /// The code as text: six groups of five characters with hyphens.
    package var text: String {
        var bytes = [UInt8](repeating: 0, count: 19)
        defer { SecretBytes.wipe(&bytes) }
        key.withUnsafeBytes { key in bytes.withUnsafeMutableBytes { $0.copyMemory(from: key) } }
        bytes.replaceSubrange(16..., with: Self.checksum(key))
        var text: [UInt8] = []
        text.reserveCapacity(Self.characters + 5)
        defer { SecretBytes.wipe(&text) }
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

    /// Returns the first 22 bits of SHA-256(label ‖ code) and two zero bits.
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
