// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridAuth
@testable import HybridPrimitives

/// Fuzzes a command of `passkeys session`.
func fuzzSessionLine(_ input: [UInt8]) throws -> Bool {
    let json = try? JSONText(parsing: input)
    let command: SessionCommand
    do throws(SessionCommand.Malformed) {
        command = try SessionCommand(input)
    } catch {
        try invariant(!error.reason.isEmpty, "each line that is refused has a reason")
        try invariant(error.number == nil || Int(error.number ?? 0) == json?.member("n")?.integer(), "numbers are kept")
        return false
    }
    let object = try present(json, "a command is JSON")
    try invariant(object.member("n")?.integer(UInt32.self) == command.number, "the number is that of the line")
    let texts: [String: String?] = ["do", "passkey", "name", "displayName"].reduce(into: [:]) {
        $0[$1] = object.member($1)?.text
    }
    let expected: [String: String?] =
        switch command.action {
        case .list: ["do": "list"]
        case .show(let passkey): ["do": "show", "passkey": passkey]
        case .history: ["do": "history"]
        case .rename(let passkey, let name, let displayName):
            ["do": "rename", "passkey": passkey, "name": name, "displayName": displayName]
        case .manage(let passkey): ["do": "manage", "passkey": passkey]
        case .delete(let passkey): ["do": "delete", "passkey": passkey]
        }
    for (name, text) in expected { try invariant(texts[name] == text, "\(name) is that of the line") }
    if case .list(let withHidden) = command.action {
        try invariant(withHidden == (object.member("hidden")?.boolean == true), "hidden is that of the line")
    }
    if case .history(let last) = command.action {
        try invariant(last == object.member("last")?.integer(), "last is that of the line")
    }
    return true
}
