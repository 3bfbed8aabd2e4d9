// SPDX-License-Identifier: Apache-2.0

internal import HybridVault

/// The history of all devices, by passkey.
struct PasskeyHistory {
    /// Every use, the last first.
    let all: [PasskeyUse]
    private let uses: [RecordID: [PasskeyUse]]

    /// Reads it; what is not genuine is named on standard error.
    init(_ vault: UnlockedVault) async throws {
        let (all, notes) = try await vault.uses()
        for note in notes { say("left alone: \(note.path): \(note.reason)") }
        self.all = all
        var uses: [RecordID: [PasskeyUse]] = [:]
        for use in all {
            if let record = use.record { uses[record, default: []].append(use) }
        }
        self.uses = uses
    }

    /// The uses of one passkey, the last first.
    func uses(of entry: VaultEntry) -> [PasskeyUse] { uses[entry.record] ?? [] }

    /// When somebody signed in with a passkey last.
    func lastUse(of entry: VaultEntry) -> UInt64? {
        uses(of: entry).first { $0.outcome == .done && $0.operation == .signIn }?.time
    }
}
