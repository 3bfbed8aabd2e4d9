// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridQRScanning

/// A kind of code that is looked for; other codes in a picture are ignored.
struct ScannedCodeKind<Code: Sendable>: Sendable {
    /// The name in messages.
    let name: String
    /// The beginning of its text.
    let start: String
    /// Reads its text.
    let parse: @Sendable (String) throws -> Code

    /// Reads its text.
    func parse(_ code: ScannedText) throws -> Code {
        try code.withBytes { try parse(String(decoding: $0, as: UTF8.self)) }
    }
}

extension ScannedCodeKind<QROffer> {
    /// The code of a device that wants to sign in.
    static let signIn = ScannedCodeKind(name: "sign-in code", start: "FIDO:/") { try QROffer(line: $0) }
}

extension ScannedCodeKind<TransferCode> {
    /// The code of a device that wants to receive passkeys, or to join a vault.
    static let transfer = ScannedCodeKind(name: "transfer code", start: "HYBRID:/") {
        try TransferCode(line: $0)
    }
}
