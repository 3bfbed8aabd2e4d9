// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives
internal import HybridVault

/// Passkeys and their uses in JSON.
///
/// Names are not shortened; unknown values are `null`.
enum PasskeyJSON {
    /// Returns a passkey for a list, with the time of its last use.
    static func row(_ passkey: PasskeySummary, _ history: PasskeyHistory) -> JSONText {
        .object(members(of: passkey, history))
    }

    /// Returns a passkey with its usage history.
    static func details(_ passkey: PasskeySummary, _ history: PasskeyHistory) -> JSONText {
        .object(members(of: passkey, history) + [("history", .array(history.uses(of: passkey).map(use)))])
    }

    /// Returns a passkey without its usage history.
    static func summary(_ passkey: PasskeySummary) -> JSONText { .object(members(of: passkey)) }

    /// Returns one use of the history.
    static func use(_ use: PasskeyUse) -> JSONText {
        .object([
            ("at", number(use.time)), ("rpId", .string(use.relyingParty.text)),
            ("operation", .string(use.operation.rawValue)), ("outcome", .string(use.outcome.rawValue)),
            ("passkey", use.record.map { .string($0.description) } ?? .null),
            ("peer", use.peer.map { .string($0) } ?? .null),
        ])
    }

    private static func members(of passkey: PasskeySummary, _ history: PasskeyHistory) -> [(String, JSONText)] {
        members(of: passkey) + [("lastUsed", history.lastUse(of: passkey).map(number) ?? .null)]
    }

    private static func members(of passkey: PasskeySummary) -> [(String, JSONText)] {
        [
            ("id", .string(passkey.record.description)),
            ("rpId", passkey.relyingParty.map { .string($0.text) } ?? .null),
            ("credentialId", passkey.credential.map { .bytes($0.bytes) } ?? .null),
            ("userHandle", passkey.user.map { .bytes($0.id.bytes) } ?? .null),
            ("userName", passkey.user.map { .string($0.name) } ?? .null),
            ("userDisplayName", passkey.user.map { .string($0.displayName) } ?? .null),
            ("created", passkey.created == 0 ? .null : number(passkey.created)), ("usable", .boolean(passkey.isUsable)),
            ("discoverable", passkey.isUsable ? .boolean(passkey.isDiscoverable) : .null),
            ("hidden", .boolean(passkey.isHidden)), ("sshKey", .boolean(passkey.isSSHKey)),
            ("encryptionKey", .boolean(passkey.isEncryptionKey)),
            ("signs", passkey.signedDataKind.map { .string($0.rawValue) } ?? .null),
            ("prf", passkey.isUsable ? .boolean(passkey.hasPRFSecret) : .null),
        ]
    }

    private static func number(_ value: UInt64) -> JSONText { .number(Int(clamping: value)) }
}
