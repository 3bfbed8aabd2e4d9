// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The vault's fuzz corpus")
struct VaultFuzzReplayTests {
    @Test("Files")
    func files() throws { try replay("vault", taking: 12, refusing: 4, fuzzVault) }

    @Test("Backups")
    func backups() throws { try replay("vault-backup", taking: 6, refusing: 7, fuzzVaultBackup) }

    @Test("Links between keys")
    func links() throws { try replay("vault-link", taking: 5, refusing: 3, fuzzVaultLink) }

    @Test("Marks of a rekeying")
    func pending() throws { try replay("vault-pending", taking: 5, refusing: 3, fuzzVaultPending) }

    @Test("Files of other programs")
    func exchange() throws { try replay("exchange", taking: 2, refusing: 5, fuzzExchange) }

    @Test("Recovery codes and passphrases")
    func secrets() throws { try replay("vault-secret", taking: 2, refusing: 10, fuzzVaultSecret) }

    @Test("Slots")
    func slots() throws { try replay("vault-slot", taking: 5, refusing: 3, fuzzVaultSlot) }

    @Test("Histories of use")
    func uses() throws { try replay("vault-uses", taking: 6, refusing: 6, fuzzVaultUses) }

    /// Runs a target's inputs; some are of the right form, and some are not, on purpose.
    private func replay(
        _ target: String,
        taking fewestTaken: Int,
        refusing fewestRefused: Int,
        _ run: ([UInt8]) throws -> Bool
    ) throws {
        let replay = try FuzzCorpus.replay(target, run)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= fewestTaken, "\(replay.taken)")
        #expect(replay.refused.count >= fewestRefused, "\(replay.refused)")
    }
}
