// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridTransfer

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

    /// Shows a list of passkeys that are about to be transferred.
    func show(_ items: [NearbyText.Item], _ heading: String) {
        guard report.format != .json else {
            return report.emit("passkeys", [("passkeys", .array(items.map(\.json)))])
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

    /// Reports a notice.
    func notify(_ name: String, _ text: String, _ details: [(name: String, value: String)] = []) {
        report.notify(ProgressState(name, text, details: details))
    }
}
