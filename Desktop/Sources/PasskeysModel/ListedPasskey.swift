// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// A passkey as the helper lists it; names are as received and must be made safe before they are shown.
package struct ListedPasskey: Hashable, Sendable {
    /// The purpose of a passkey.
    package enum Kind: Hashable, Sendable {
        /// Sign-ins at a website or a local service.
        case website
        /// SSH logins, and any other data unless it is limited.
        case sshKey(onlySSH: Bool)
        /// Files on a computer.
        case encryptionKey
    }

    /// The ID in hexadecimal digits.
    package let id: String
    /// The RP ID; `nil` if this version can't read the passkey.
    let site: String?
    /// The account's name, as received.
    package let userName: String
    /// The account's name for people, as received.
    package let userDisplayName: String
    /// The time of its creation in seconds since 1970.
    package let created: Int64?
    /// The time of its last use in seconds since 1970.
    package private(set) var lastUsed: Int64?
    /// False for a passkey of a later version, which can be deleted only.
    package let isUsable: Bool
    /// True if the site has said that it does not accept the passkey any more.
    package let isHidden: Bool
    /// The purpose.
    package let kind: Kind

    /// True for a passkey that the helper gives away without a further option; SSH keys open servers.
    package var canBeGiven: Bool {
        if case .sshKey = kind { return false }
        return isUsable
    }

    /// Creates a passkey from a row of the helper; `nil` if it has no valid ID.
    init?(_ row: JSONText) {
        guard let id = row.shortText("id", atMost: 64), Self.isID(id) else { return nil }
        self.id = id
        site = row.shortText("rpId", atMost: 1024)
        userName = row.shortText("userName") ?? ""
        userDisplayName = row.shortText("userDisplayName") ?? ""
        created = row.time("created")
        lastUsed = row.time("lastUsed")
        isUsable = row.isTrue("usable")
        isHidden = row.isTrue("hidden")
        let isSSHKey = row.isTrue("sshKey")
        let isEncryptionKey = row.isTrue("encryptionKey")
        kind =
            isSSHKey
            ? .sshKey(onlySSH: row.member("signs")?.text == "ssh") : isEncryptionKey ? .encryptionKey : .website
    }

    /// Creates a copy with another time of the last use, unless the passkey has one.
    init(_ passkey: ListedPasskey, lastUsed: Int64?) {
        self = passkey
        self.lastUsed = passkey.lastUsed ?? lastUsed
    }

    /// True if the site has pages in the web.
    package var hasWebsite: Bool { kind == .website && site?.contains(":") == false }

    /// The site, safe to show.
    package var siteText: String {
        let shown = (site ?? "").shownAlone
        return shown.isEmpty ? tr("Unknown site") : shown
    }

    /// The account, safe to show.
    package var accountText: String {
        for name in [userName, userDisplayName] {
            let shown = name.shownAlone
            if !shown.isEmpty { return shown }
        }
        return isUsable ? tr("Unnamed account") : tr("Made by a newer version")
    }

    /// The account's second name, safe to show; `nil` if it says nothing new.
    package var secondNameText: String? {
        let shown = userDisplayName.shownAlone
        return shown.isEmpty || shown == accountText ? nil : shown
    }

    /// The kind in words; `nil` for the usual one.
    package var kindText: String? {
        switch kind {
        case .website: nil
        case .sshKey: tr("SSH key")
        case .encryptionKey: tr("Encryption key")
        }
    }

    /// Returns the second line of a row: the kind, the state and the last use.
    package func summary(_ clock: LocalClock) -> String {
        var parts: [String] = []
        if let kindText { parts.append(kindText) }
        if isHidden { parts.append(tr("Hidden by the site")) }
        if !isUsable { parts.append(tr("Can't be used by this version")) }
        if isUsable, !isHidden { parts.append(lastUsedText(clock)) }
        return parts.joined(separator: " · ")
    }

    /// Returns the last use in words.
    package func lastUsedText(_ clock: LocalClock) -> String {
        guard let lastUsed else { return tr("Never used") }
        return tr("Used {date}", ["date": clock.day(lastUsed)])
    }

    /// The ways in which the user can search for the passkey, in lower case.
    var searchText: String {
        [siteText, userName.shownAlone, userDisplayName.shownAlone, kindText ?? ""].joined(separator: "\n").lowercased()
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count >= 4 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// A use of a passkey, from its history.
package struct ListedUse: Hashable, Sendable {
    /// The time in seconds since 1970.
    package let time: Int64
    private let operation: String
    private let outcome: String

    /// Creates a use from an entry of the history; `nil` without a time.
    init?(_ entry: JSONText) {
        guard let time = entry.time("at") else { return nil }
        self.time = time
        operation = entry.shortText("operation", atMost: 64) ?? ""
        outcome = entry.shortText("outcome", atMost: 64) ?? ""
    }

    /// The operation in words.
    package var operationText: String {
        switch operation {
        case "create": tr("Created")
        case "sign-in": tr("Sign-in")
        case "sign": tr("SSH signature")
        default: tr("Request")
        }
    }

    /// The outcome in words.
    package var outcomeText: String {
        switch outcome {
        case "done": tr("Done")
        case "client-gone": tr("Connection lost")
        case "declined": tr("Declined")
        case "unanswered": tr("Not answered")
        case "no-passkey": tr("No passkey")
        case "already-registered": tr("Already registered")
        default: tr("Failed")
        }
    }

    /// True if the request did what it was for.
    package var isDone: Bool { outcome == "done" }
}
