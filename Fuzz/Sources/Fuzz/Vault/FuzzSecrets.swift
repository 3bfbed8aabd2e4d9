// SPDX-License-Identifier: Apache-2.0

@testable import HybridVault

/// What a person typed where a passphrase or a recovery code is asked for.
func fuzzVaultSecret(_ input: [UInt8]) throws -> Bool {
    let passphrase = input.withUnsafeBytes { Passphrase(utf8: $0) }
    try invariant((passphrase != nil) == (1...1024).contains(input.count), "a passphrase is as long as it may be")
    if let passphrase {
        let kept = passphrase.withUnsafeBytes { Array($0) }
        try invariant(kept == input, "and kept byte for byte")
        try invariant((0...8 * input.count).contains(passphrase.strength), "no byte is worth more than it has")
    }
    let code: RecoveryCode
    do throws(RecoveryCode.Refusal) {
        code = try read(input)
    } catch {
        try invariant(error != .mistyped || isCode(input), "only what looks like a code is a mistyped one")
        return false
    }
    try invariant(isCode(input), "a code has thirty characters")
    let bytes = code.withUnsafeBytes { Array($0) }
    let text = Array(code.text.utf8)
    try invariant(text.count == 35, "it is written in six groups")
    let again = try read(text).withUnsafeBytes { Array($0) }
    try invariant(again == bytes, "and reads back")
    try invariant(meaning(input) == meaning(text), "it is spelled in no other way")
    return true
}

private func read(_ text: [UInt8]) throws(RecoveryCode.Refusal) -> RecoveryCode {
    let result = text.withUnsafeBytes { bytes in
        Result { () throws(RecoveryCode.Refusal) in try RecoveryCode(reading: bytes) }
    }
    return try result.get()
}

private let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

/// The characters that count, as they are written.
private func meaning(_ text: [UInt8]) -> [UInt8] {
    text.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "-") }.map { byte in
        let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
        switch upper {
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return UInt8(ascii: "1")
        case UInt8(ascii: "O"): return UInt8(ascii: "0")
        default: return upper
        }
    }
}

private func isCode(_ text: [UInt8]) -> Bool {
    let letters = meaning(text)
    return letters.count == 30 && letters.allSatisfy { alphabet.contains($0) }
}
