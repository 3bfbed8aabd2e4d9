// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridVault

/// Passkeys and their uses as text for a terminal.
///
/// Text chosen by a site is at the end of its line, so it can neither shift a column nor imitate other fields.
enum PasskeyText {
    private static let unknown = "-"
    private static let unusable = "(this version can't use it)"
    private static let hidden = "(hidden)"

    /// Returns one line for each passkey, with a heading.
    static func table(_ passkeys: [PasskeySummary], _ history: PasskeyHistory) -> String {
        let digits = PasskeyChoice.digitsNeeded(passkeys)
        return columns(
            ["ID", "CREATED", "LAST USED", "SITE", "ACCOUNT"],
            passkeys.map { passkey in
                [
                    String(passkey.record.description.prefix(digits)), time(passkey.created),
                    history.lastUse(of: passkey).map(LocalTime.text) ?? "never", site(passkey),
                    [passkey.isHidden ? hidden : nil, passkey.isUsable ? nil : unusable, account(passkey)]
                        .compactMap(\.self).joined(separator: " "),
                ]
            }
        )
    }

    /// Returns all properties of one passkey and its usage history.
    static func details(_ passkey: PasskeySummary, _ history: PasskeyHistory) -> String {
        var rows = [
            ["site", site(passkey)], ["account", account(passkey)],
            ["display name", passkey.user.map { quoted($0.displayName) } ?? unknown],
            ["created", time(passkey.created)], ["ID", passkey.record.description],
            ["credential", passkey.credential.map { Base64URL.encode($0.bytes) } ?? unknown],
            ["account ID", passkey.user.map { Base64URL.encode($0.id.bytes) } ?? unknown],
        ]
        if passkey.isUsable {
            rows.append(["discoverable", passkey.isDiscoverable ? "yes" : "no, only for sites that name it"])
            rows.append(["signs", signs(passkey)])
            rows.append(["prf", passkey.hasPRFSecret ? "yes" : "no"])
        } else {
            rows.append(["usable", "no, a later version of this program made or changed it"])
        }
        if passkey.isHidden { rows.append(["hidden", "yes, the site has signaled that it does not accept it"]) }
        let uses = history.uses(of: passkey)
        let lines = uses.map { [LocalTime.text($0.time), operation($0), words($0.outcome) + peer($0)] }
        let table = uses.isEmpty ? "no uses yet" : columns(["WHEN", "WHAT", "OUTCOME"], lines)
        return rows.map { pad($0[0], 14) + $0[1] }.joined(separator: "\n") + "\n\n" + table
    }

    /// Returns one line for each use, with a heading.
    static func history(_ uses: some Collection<PasskeyUse>, of passkeys: [PasskeySummary]) -> String {
        let digits = PasskeyChoice.digitsNeeded(passkeys)
        let present = Set(passkeys.map(\.record))
        return columns(
            ["WHEN", "WHAT", "OUTCOME", "PASSKEY", "SITE"],
            uses.map { use in
                [
                    LocalTime.text(use.time), operation(use), words(use.outcome),
                    use.record.map { present.contains($0) ? String($0.description.prefix(digits)) : "deleted" }
                        ?? unknown,
                    use.relyingParty.text + peer(use),
                ]
            }
        )
    }

    /// Returns the account's name as the prompts show it.
    static func account(_ passkey: PasskeySummary) -> String { account(passkey.user) }

    /// Returns an account's name as the prompts show it, or a dash if it is unknown.
    static func account(_ user: UserEntity?) -> String {
        guard let user else { return unknown }
        let name = user.name.isEmpty ? user.displayName : user.name
        return name.isEmpty ? "(without a name)" : quoted(name)
    }

    /// Returns the question before a deletion.
    ///
    /// As in the prompts for sign-ins, the site and the account are each on a line of their own.
    static func deletionQuestion(_ passkey: PasskeySummary) -> String {
        let site = passkey.relyingParty.map(SignInPromptText.heading) ?? "A passkey that this version can't read"
        let loss =
            passkey.isEncryptionKey
            ? EncryptionKeyText.loss : "Without another way to sign in you lose the account."
        return
            "\(site)\n\nDelete the passkey of this account permanently?\n\(account(passkey))\nIt is deleted on every "
            + "device and cannot be restored. \(loss)\n\nID \(passkey.record)"
    }

    /// Returns a number of passkeys in words.
    static func count(_ count: Int) -> String { count == 1 ? "1 passkey" : "\(count) passkeys" }

    /// Returns the site, with its kind if it is an SSH key or local service, or a dash if it is unknown.
    static func site(_ passkey: PasskeySummary) -> String {
        guard let relyingParty = passkey.relyingParty else { return unknown }
        if passkey.isEncryptionKey { return "\(relyingParty) (encryption key)" }
        return passkey.isSSHKey ? "\(relyingParty) (SSH key)" : relyingParty.text
    }

    private static func signs(_ passkey: PasskeySummary) -> String {
        if passkey.signedDataKind == .ssh { return "SSH logins and messages only" }
        return passkey.isEncryptionKey ? "only for a client that gets its secret" : "any data"
    }

    private static func quoted(_ name: String) -> String { SafeText(quoting: name).description }
    private static func time(_ seconds: UInt64) -> String { seconds == 0 ? unknown : LocalTime.text(seconds) }

    private static func operation(_ use: PasskeyUse) -> String {
        switch use.operation {
        case .create: "create"
        case .signIn where use.relyingParty.isEncryptionKey: "give key"
        case .signIn: "sign in"
        case .sign: "sign for SSH"
        case .give: "give"
        case .receive: "receive"
        case .other: "other"
        }
    }

    /// Returns the other side of a transfer, as the end of a line.
    private static func peer(_ use: PasskeyUse) -> String {
        guard let peer = use.peer else { return "" }
        return "\(use.operation == .give ? ", to" : ", from") \(quoted(peer))"
    }

    private static func words(_ outcome: PasskeyUse.Outcome) -> String {
        switch outcome {
        case .done: "done"
        case .declined: "declined"
        case .unanswered: "not answered"
        case .noPasskey: "no passkey"
        case .alreadyRegistered: "already registered"
        case .clientGone: "connection lost"
        case .failed: "failed"
        case .other: "other"
        }
    }

    /// Returns columns two spaces apart; the last one is not padded.
    static func columns(_ heading: [String], _ rows: [[String]]) -> String {
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
