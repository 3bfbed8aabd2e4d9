// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Replays the fuzzers' seeds and former crashes through the fuzz targets, whose sources are linked here.
@Suite("The vault's fuzz corpus")
struct VaultFuzzReplayTests {
    @Test("Files")
    func files() throws { try replay("vault", taking: 12, refusing: 4, fuzzVault) }

    @Test("Backups")
    func backups() throws { try replay("vault-backup", taking: 6, refusing: 7, fuzzVaultBackup) }

    @Test("Links between keys")
    func links() throws { try replay("vault-link", taking: 5, refusing: 3, fuzzVaultLink) }

    @Test("Pending keys")
    func pending() throws { try replay("vault-pending", taking: 5, refusing: 3, fuzzVaultPending) }

    @Test("Recovery codes and passphrases")
    func secrets() throws { try replay("vault-secret", taking: 2, refusing: 10, fuzzVaultSecret) }

    @Test("Slots")
    func slots() throws { try replay("vault-slot", taking: 5, refusing: 3, fuzzVaultSlot) }

    @Test("Slots that a TPM protects")
    func tpmSlots() throws { try replay("vault-tpm-slot", taking: 5, refusing: 5, fuzzVaultTPMSlot) }

    @Test("Usage histories")
    func uses() throws { try replay("vault-uses", taking: 6, refusing: 6, fuzzVaultUses) }

    /// Runs a target's inputs, of which some must be accepted and some refused.
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
