// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridVault

/// Passkeys and their uses for programs.
///
/// Names are whole; what is not known is `null`.
enum PasskeyJSON {
    /// A passkey in a list.
    static func entry(_ entry: VaultEntry, _ history: PasskeyHistory) -> JSONText {
        .object(members(of: entry) + [("lastUsed", history.lastUse(of: entry).map(number) ?? .null)])
    }

    /// A passkey with its history.
    static func whole(_ entry: VaultEntry, _ history: PasskeyHistory) -> JSONText {
        .object(
            members(of: entry) + [
                ("lastUsed", history.lastUse(of: entry).map(number) ?? .null),
                ("history", .list(history.uses(of: entry).map(use))),
            ]
        )
    }

    /// A passkey of which only itself is of interest.
    static func plain(_ entry: VaultEntry) -> JSONText { .object(members(of: entry)) }

    /// One use.
    static func use(_ use: PasskeyUse) -> JSONText {
        .object([
            ("at", number(use.time)), ("rpId", .text(use.relyingParty.text)),
            ("operation", .text(use.operation.rawValue)), ("outcome", .text(use.outcome.rawValue)),
            ("passkey", use.record.map { .text($0.description) } ?? .null),
        ])
    }

    private static func members(of entry: VaultEntry) -> [(String, JSONText)] {
        [
            ("id", .text(entry.record.description)),
            ("rpId", entry.relyingParty.map { .text($0.text) } ?? .null),
            ("credentialId", entry.credential.map { .text(Base64URL.encode($0.bytes)) } ?? .null),
            ("userHandle", entry.user.map { .text(Base64URL.encode($0.id.bytes)) } ?? .null),
            ("userName", entry.user.map { .text($0.name) } ?? .null),
            ("userDisplayName", entry.user.map { .text($0.displayName) } ?? .null),
            ("created", entry.created == 0 ? .null : number(entry.created)), ("usable", .boolean(entry.isUsable)),
            ("discoverable", entry.isUsable ? .boolean(entry.isDiscoverable) : .null),
            ("prf", entry.isUsable ? .boolean(entry.hasPRFSecret) : .null),
        ]
    }

    private static func number(_ value: UInt64) -> JSONText { .number(Int(clamping: value)) }
}
