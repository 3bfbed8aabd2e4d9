// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridVault

/// Fuzzes input at the prompt for a passphrase or recovery code.
func fuzzVaultSecret(_ input: [UInt8]) throws -> Bool {
    let passphrase = input.withUnsafeBytes { Passphrase(utf8: $0) }
    try invariant((passphrase != nil) == (1...1024).contains(input.count), "exactly the allowed lengths are accepted")
    if let passphrase {
        let kept = passphrase.key.withUnsafeBytes { Array($0) }
        try invariant(kept == input, "a passphrase is kept byte for byte")
        try invariant((0...8 * input.count).contains(passphrase.strength), "no byte counts more than eight bits")
    }
    let code: RecoveryCode
    do throws(RecoveryCode.ParseError) {
        code = try read(input)
    } catch {
        try invariant(error != .mistyped || isCode(input), "only a text that looks like a code is mistyped")
        return false
    }
    try invariant(isCode(input), "a code has thirty characters")
    let bytes = code.key.withUnsafeBytes { Array($0) }
    let text = Array(code.text.utf8)
    try invariant(text.count == 35, "a code is written in six groups")
    let again = try read(text).key.withUnsafeBytes { Array($0) }
    try invariant(again == bytes, "a code reads back")
    try invariant(canonical(input) == canonical(text), "a code has one canonical spelling")
    return true
}

private func read(_ text: [UInt8]) throws(RecoveryCode.ParseError) -> RecoveryCode {
    let result = text.withUnsafeBytes { bytes in
        Result { () throws(RecoveryCode.ParseError) in try RecoveryCode(reading: bytes) }
    }
    return try result.get()
}

private let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

/// Returns the significant characters in their canonical form.
private func canonical(_ text: [UInt8]) -> [UInt8] {
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
    let letters = canonical(text)
    return letters.count == 30 && letters.allSatisfy { alphabet.contains($0) }
}
