// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP

@testable import HybridVault

/// A file of another password manager: what is taken over is whole, and the rest is told in bounded words.
func fuzzExchange(_ input: [UInt8]) throws -> Bool {
    let file: ExchangeFile
    do throws(ExchangeFile.Refusal) {
        file = try ExchangeFile(json: input)
    } catch {
        try isShown(error.words)
        return false
    }
    try invariant(file.count <= input.count, "no more passkeys than bytes")
    for (_, count) in file.skipped { try invariant(count > 0, "what was left out is counted") }
    for (what, count) in file.incomplete {
        try invariant(count > 0, "what was cut is counted")
        try isShown(what)
    }
    for passkey in file.passkeys {
        let padded = passkey.body(order: 1, now: 2).padded
        let body = try present(padded.withUnsafeBytes { RecordBody(padded: $0) }, "what is imported can be read again")
        let members = try present(body.members, "a passkey is not deleted")
        let read = try present(PasskeyBody(members: members).passkey, "and it can sign")
        try invariant(read.id == passkey.name.credential, "for the credential that was named")
    }
    return file.count > 0
}

private func isShown(_ words: String) throws {
    try invariant(!words.isEmpty && words.utf8.count <= 1000, "words are few")
    try invariant(!words.unicodeScalars.contains { $0.value < 0x20 }, "and on one line")
}
