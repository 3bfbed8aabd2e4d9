// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// A linked computer as the helper lists it.
package struct ListedComputer: Hashable, Sendable {
    /// The state of a link.
    package enum State: Hashable, Sendable {
        case active
        /// It asked too often without an answer; its requests are ignored.
        case muted
        /// Only requests of its guests are ignored.
        case mutedForGuests
        /// Its push subscription has ended.
        case unreachable
        /// It is forgotten here, but the relay does not know yet.
        case beingForgotten
    }

    /// The ID in hexadecimal digits.
    package let id: String
    /// The user's name for it, as stored.
    package let name: String
    /// The state.
    package let state: State
    private let relay: String
    private let created: Int64?
    private let lastUsed: Int64?

    /// Creates a computer from a row of the helper; `nil` if it has no valid ID, or is forgotten.
    init?(_ row: JSONText) {
        guard let id = row.shortText("id", atMost: 128), Self.isID(id) else { return nil }
        switch row.member("state")?.text {
        case "active": state = .active
        case "muted": state = .muted
        case "muted-for-guests": state = .mutedForGuests
        case "unreachable": state = .unreachable
        case "to-be-revoked": state = .beingForgotten
        default: return nil
        }
        self.id = id
        name = row.shortText("name", atMost: 4096) ?? ""
        relay = row.shortText("relay", atMost: 256) ?? ""
        created = row.time("created")
        lastUsed = row.time("lastUsed")
    }

    /// The name, safe to show.
    package var title: String {
        let shown = name.shownAlone
        return shown.isEmpty ? tr("Unnamed computer") : shown
    }

    /// True if the user can let it ask again.
    package var canBeUnmuted: Bool { state == .muted || state == .mutedForGuests }

    /// True if it can be renamed and forgotten.
    package var canBeChanged: Bool { state != .beingForgotten }

    /// Returns the state and the last use in words.
    package func summary(_ clock: LocalClock) -> String {
        switch state {
        case .active: lastUsed.map { tr("Used {date}", ["date": clock.day($0)]) } ?? tr("Never used")
        case .muted: tr("Muted, because you declined several requests")
        case .mutedForGuests: tr("Websites on it are muted, because you declined several requests")
        case .unreachable: tr("Can't wake this device any more; link it again")
        case .beingForgotten: tr("Forgotten here; the relay will be told later")
        }
    }

    /// Returns facts for the page of the computer: a heading and a value each.
    package func facts(_ clock: LocalClock) -> [(title: String, value: String)] {
        var facts: [(title: String, value: String)] = []
        if let created { facts.append((tr("Linked"), clock.day(created))) }
        if let lastUsed { facts.append((tr("Last used"), clock.dayAndTime(lastUsed))) }
        if !relay.shownAlone.isEmpty { facts.append((tr("Relay"), relay.shownAlone)) }
        return facts
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count >= 4 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

extension [ListedComputer] {
    /// Creates the list from the output of `links list --json`; `nil` if it is not one.
    package init?(linksOutput line: [UInt8]) {
        guard let rows = JSONText(helperLine: line)?.member("links")?.elements else { return nil }
        self = rows.compactMap(ListedComputer.init).sorted {
            ($0.title.lowercased(), $0.id) < ($1.title.lowercased(), $1.id)
        }
    }
}
