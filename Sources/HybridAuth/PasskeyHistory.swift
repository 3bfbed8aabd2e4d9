// SPDX-License-Identifier: Apache-2.0

internal import HybridVault

/// The usage histories of all devices, by passkey.
struct PasskeyHistory {
    /// All uses, the latest first.
    let all: [PasskeyUse]
    private let uses: [RecordID: [PasskeyUse]]

    /// Reads the histories and prints warnings about ignored entries.
    init(_ vault: UnlockedVault) async throws {
        let (all, warnings) = try await vault.uses()
        report(warnings)
        self.all = all
        var uses: [RecordID: [PasskeyUse]] = [:]
        for use in all {
            if let record = use.record { uses[record, default: []].append(use) }
        }
        self.uses = uses
    }

    /// Returns the uses of one passkey, the latest first.
    func uses(of passkey: PasskeySummary) -> [PasskeyUse] { uses[passkey.record] ?? [] }

    /// Returns the time of the last successful sign-in with a passkey.
    func lastUse(of passkey: PasskeySummary) -> UInt64? {
        uses(of: passkey).first { $0.outcome == .done && $0.operation == .signIn }?.time
    }
}
