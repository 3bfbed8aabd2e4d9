// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// Passkeys and their uses as a person reads them on a terminal.
///
/// What a site chose stands at the end of its line, so that no name shifts a column or shares a line with what follows.
enum PasskeyText {
    private static let unknown = "-"
    private static let unusable = "(this version can't use it)"

    /// One line for each, with a heading.
    static func table(_ entries: [VaultEntry], _ history: PasskeyHistory) -> String {
        let digits = PasskeyChoice.digitsNeeded(entries)
        return columns(
            ["ID", "CREATED", "LAST USED", "SITE", "ACCOUNT"],
            entries.map { entry in
                [
                    String(entry.record.description.prefix(digits)), time(entry.created),
                    history.lastUse(of: entry).map(LocalTime.text) ?? "never", site(entry),
                    entry.isUsable ? account(entry) : "\(unusable) \(account(entry))",
                ]
            }
        )
    }

    /// Everything about one.
    static func whole(_ entry: VaultEntry, _ history: PasskeyHistory) -> String {
        var rows = [
            ["site", site(entry)], ["account", account(entry)],
            ["display name", entry.user.map { quoted($0.displayName) } ?? unknown],
            ["created", time(entry.created)], ["ID", entry.record.description],
            ["credential", entry.credential.map { Base64URL.encode($0.bytes) } ?? unknown],
            ["account ID", entry.user.map { Base64URL.encode($0.id.bytes) } ?? unknown],
        ]
        if entry.isUsable {
            rows.append(["discoverable", entry.isDiscoverable ? "yes" : "no, it answers only who names it"])
            rows.append(["prf", entry.hasPRFSecret ? "yes" : "no"])
        } else {
            rows.append(["usable", "no, a later version of this program made or changed it"])
        }
        let uses = history.uses(of: entry)
        let lines = uses.map { [LocalTime.text($0.time), words($0.operation), words($0.outcome)] }
        let table = uses.isEmpty ? "no uses yet" : columns(["WHEN", "WHAT", "OUTCOME"], lines)
        return rows.map { pad($0[0], 14) + $0[1] }.joined(separator: "\n") + "\n\n" + table
    }

    /// One line for each use, with a heading.
    static func history(_ uses: some Collection<PasskeyUse>, of entries: [VaultEntry]) -> String {
        let digits = PasskeyChoice.digitsNeeded(entries)
        let present = Set(entries.map(\.record))
        return columns(
            ["WHEN", "WHAT", "OUTCOME", "PASSKEY", "SITE"],
            uses.map { use in
                [
                    LocalTime.text(use.time), words(use.operation), words(use.outcome),
                    use.record.map { present.contains($0) ? String($0.description.prefix(digits)) : "deleted" }
                        ?? unknown,
                    use.relyingParty.text,
                ]
            }
        )
    }

    /// The account's name on a line of its own, as the questions show it.
    static func account(_ entry: VaultEntry) -> String {
        guard let user = entry.user else { return unknown }
        let name = user.name.isEmpty ? user.displayName : user.name
        return name.isEmpty ? "(without a name)" : quoted(name)
    }

    /// So many passkeys.
    static func count(_ count: Int) -> String { count == 1 ? "1 passkey" : "\(count) passkeys" }

    /// The site, or that it can't be read.
    static func site(_ entry: VaultEntry) -> String { entry.relyingParty?.text ?? unknown }

    private static func quoted(_ name: String) -> String { SafeText(quoting: name).description }
    private static func time(_ seconds: UInt64) -> String { seconds == 0 ? unknown : LocalTime.text(seconds) }

    private static func words(_ operation: PasskeyUse.Operation) -> String {
        switch operation {
        case .create: "create"
        case .signIn: "sign in"
        case .other: "other"
        }
    }

    private static func words(_ outcome: PasskeyUse.Outcome) -> String {
        switch outcome {
        case .done: "done"
        case .declined: "declined"
        case .unanswered: "not answered"
        case .noPasskey: "no passkey"
        case .alreadyRegistered: "already registered"
        case .clientGone: "broken off"
        case .failed: "failed"
        case .other: "other"
        }
    }

    /// Columns two spaces apart; the last is not padded.
    private static func columns(_ heading: [String], _ rows: [[String]]) -> String {
        let lines = [heading] + rows
        let widths = heading.indices.map { column in lines.map { $0[column].unicodeScalars.count }.max() ?? 0 }
        return lines.map { line in
            line.indices.map { $0 == line.count - 1 ? line[$0] : pad(line[$0], widths[$0] + 2) }.joined()
        }
        .joined(separator: "\n")
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.unicodeScalars.count))
    }
}
