// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridCredentialExchange

/// Fuzzes files of other password managers: passkeys are exported as they were imported, and reported texts are bounded.
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
    try isWrittenAndRead(file.passkeys)
    return file.count > 0
}

/// Passkeys that were read are written, read again without a loss, and then written in the same way.
private func isWrittenAndRead(_ passkeys: [ExchangedPasskey]) throws {
    let first = written(passkeys)
    // Escapes make JSON longer.
    guard first.count <= ExchangeFormat.maximumLength else { return }
    let again = try ExchangeFile(json: first)
    try invariant(again.skipped.isEmpty && again.incomplete.isEmpty, "an export loses nothing")
    try invariant(again.passkeys.map(\.id) == passkeys.map(\.id), "an export has all passkeys in their order")
    try invariant(written(again.passkeys) == first, "an export that was imported is exported again")
}

private func written(_ passkeys: [ExchangedPasskey]) -> [UInt8] {
    var writer = JSONWriter()
    ExchangeDocument.write(passkeys.map { (item: [1], passkey: $0) }, account: [2], time: 3, to: &writer)
    return writer.bytes
}

private func isShown(_ text: String) throws {
    try invariant(!text.isEmpty && text.utf8.count <= 1000, "a reported text is short and not empty")
    try invariant(!text.unicodeScalars.contains { $0.value < 0x20 }, "a reported text has no control characters")
}
