// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import TestSupport

@testable import HybridVault

/// Fuzzes files of other password managers: imported passkeys are complete, and reported texts are bounded.
func fuzzExchange(_ input: [UInt8]) throws -> Bool {
    let file: ExchangeFile
    do throws(ExchangeFile.ParseError) {
        file = try ExchangeFile(json: input)
    } catch {
        try isShown(error.reason)
        return false
    }
    try invariant(file.count <= input.count, "no more passkeys than bytes")
    for (_, count) in file.skipped { try invariant(count > 0, "skipped credentials are counted") }
    for (what, count) in file.incomplete {
        try invariant(count > 0, "lost members are counted")
        try isShown(what)
    }
    for passkey in file.passkeys {
        let padded = passkey.body(order: 1, now: 2).padded
        let body = try present(padded.withUnsafeBytes { RecordBody(padded: $0) }, "an imported record can be read")
        let members = try present(body.members, "an imported passkey has members")
        let read = try present(PasskeyBody(members: members).passkey, "an imported passkey can sign")
        try invariant(read.id == passkey.id.credential, "an imported passkey keeps its credential ID")
    }
    return file.count > 0
}

private func isShown(_ text: String) throws {
    try invariant(!text.isEmpty && text.utf8.count <= 1000, "a reported text is short and not empty")
    try invariant(!text.unicodeScalars.contains { $0.value < 0x20 }, "a reported text has no control characters")
}
