// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridTransfer
internal import HybridVault

/// The states of a transfer after both devices are connected, on standard error.
struct TransferProgress: Sendable {
    let report: ProgressReport

    /// Shows the digits that both screens must show.
    func show(_ digits: TransferDigits, _ peer: TransferPeer) {
        enter(
            "digits",
            "compare: the screen of \(peer.name) must show \(digits)",
            [("digits", digits.description.filter { $0 != " " }), ("peer", peer.plainName)]
        )
    }

    /// Maximum number of passkeys in one event; more would exceed a line of hybrid-prompt.
    private static let maximumItems = 10

    /// Shows a list of passkeys that are about to be transferred.
    func show(_ items: [NearbyText.Item], _ heading: String) {
        guard report.format != .json else {
            for start in stride(from: 0, to: items.count, by: Self.maximumItems) {
                let part = items[start..<min(start + Self.maximumItems, items.count)]
                report.emit("passkeys", [("passkeys", .array(part.map(\.json))), ("of", .number(items.count))])
            }
            return
        }
        report.notify(ProgressState("passkeys", heading))
        for line in NearbyText.list(items) { report.notify(ProgressState("passkeys", "  \(line)")) }
    }

    /// Shows how many passkeys the receiver has stored.
    func stored(_ count: Int, of total: Int) {
        enter("stored", "\(count) of \(PasskeyText.count(total)) stored", [("count", "\(count)"), ("of", "\(total)")])
    }

    /// Enters a state.
    func enter(_ name: String, _ text: String, _ details: [(name: String, value: String)] = []) {
        report.enter(ProgressState(name, text, details: details))
    }

    /// Reports that passkeys were transferred but are not in the usage history, if that is so.
    func notify(historyFailure: VaultError?) {
        guard let historyFailure else { return }
        notify("history-not-written", "the usage history was not written: \(historyFailure.sentence)")
    }

    /// Reports a notice.
    func notify(_ name: String, _ text: String, _ details: [(name: String, value: String)] = []) {
        report.notify(ProgressState(name, text, details: details))
    }
}
