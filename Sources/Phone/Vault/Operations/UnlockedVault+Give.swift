// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridCredentialExchange
internal import HybridPrimitives

/// The reason why a passkey is not given to another vault.
package enum WithheldReason: String, Sendable {
    /// It is an SSH key, which opens servers and not an account that its owner could move.
    case sshKey = "ssh-key"
    /// Its creation bound it to one device, so a copy would contradict what its site was told.
    case oneDevice = "one-device"
    /// This version cannot use it, so it cannot write it for another vault.
    case unusable

    /// Creates the reason, or `nil` if the passkey may be given.
    ///
    /// - Parameters:
    ///   - passkey: The passkey.
    ///   - isComplete: True if the user has asked for SSH keys and for passkeys of one device, too.
    package init?(_ passkey: PasskeySummary, givingAll isComplete: Bool) {
        if !passkey.isUsable {
            self = .unusable
        } else if isComplete {
            return nil
        } else if passkey.isSSHKey {
            self = .sshKey
        } else if !passkey.isBackupEligible {
            self = .oneDevice
        } else {
            return nil
        }
    }
}

/// Passkeys of this vault for another one, with their private keys.
package struct PasskeyGift: SecretMaterial, Sendable {
    /// The passkeys, the oldest first, so that the other vault keeps their order.
    package let passkeys: [ExchangedPasskey]
    /// The records of each, as they were read.
    let sources: [ExchangedPasskey.ID: [Source]]

    /// A record that is given.
    struct Source: Sendable {
        let record: RecordID
        let revision: Revision
    }
}

/// The result of a confirmation by the other vault.
package struct GivenPasskeys: Equatable, Sendable {
    /// Number of passkeys that were deleted here.
    package let deleted: Int
    /// Passkeys that stay, because they have changed here since they were read.
    package let changed: [ExchangedPasskey.ID]
    /// The failure to write the usage history, which does not affect the passkeys.
    package let historyFailure: VaultError?
}

extension UnlockedVault {
    /// Returns passkeys with their private keys for another vault; those that are deleted meanwhile are not among them.
    ///
    /// - Throws: ``VaultError``.
    package func gift(of records: Set<RecordID>) async throws(VaultError) -> PasskeyGift {
        try await perform { key, files throws(VaultError) in try files.gift(of: records, key: key) }
    }

    /// Records that the other vault has stored passkeys durably, and deletes them here if they move.
    ///
    /// - Parameters:
    ///   - ids: Passkeys of the gift that the other side has confirmed; others are ignored.
    ///   - gift: The passkeys that were given.
    ///   - peer: The name of the other side.
    ///   - isMove: True to delete them from this vault on all its devices.
    /// - Throws: ``VaultError``; passkeys that were not deleted are in both vaults.
    package func given(
        _ ids: [ExchangedPasskey.ID],
        of gift: PasskeyGift,
        to peer: String,
        moving isMove: Bool
    ) async throws(VaultError) -> GivenPasskeys {
        try await perform { key, files throws(VaultError) in
            try files.given(ids, of: gift, to: peer, moving: isMove, key: key)
        }
    }
}

extension VaultFiles {
    func gift(of chosen: Set<RecordID>, key: SymmetricKey) throws(VaultError) -> PasskeyGift {
        let all = try records(key: key)
        var passkeys: [ExchangedPasskey] = []
        var newer: [ExchangedPasskey.ID: PasskeyBody] = [:]
        var sources: [ExchangedPasskey.ID: [PasskeyGift.Source]] = [:]
        for (record, _) in all.passkeys where chosen.contains(record) {
            guard let state = all.all[record], let body = all.reveal(record), let passkey = body.exchanged else {
                continue
            }
            if let other = newer[passkey.id] {
                // Of two with the same site and ID, which a merge may leave, the newer one is given. If the older one is
                // the same, it moves with it; otherwise it stays.
                guard other.includes(passkey) else { continue }
            } else {
                newer[passkey.id] = body
                passkeys.append(passkey)
            }
            sources[passkey.id, default: []].append(PasskeyGift.Source(record: record, revision: state.newest))
        }
        return PasskeyGift(passkeys: passkeys.reversed(), sources: sources)
    }

    /// Deletes passkeys that move, then adds all to the usage history.
    func given(
        _ ids: [ExchangedPasskey.ID],
        of gift: PasskeyGift,
        to peer: String,
        moving isMove: Bool,
        key: SymmetricKey
    ) throws(VaultError) -> GivenPasskeys {
        let given = ids.filter { gift.sources[$0] != nil }
        let deletion = isMove ? try delete(given, of: gift, key: key) : (count: 0, changed: [])
        let uses = given.map { id in
            PasskeyUse(
                time: location.clock.now(),
                relyingParty: id.relyingParty,
                operation: .give,
                outcome: .done,
                record: gift.sources[id]?.first?.record,
                peer: peer
            )
        }
        return GivenPasskeys(
            deleted: deletion.count,
            changed: deletion.changed,
            historyFailure: historyFailure(uses, key: key)
        )
    }

    /// Adds uses to the history; returns the failure, because a history only informs the user.
    func historyFailure(_ uses: [PasskeyUse], key: SymmetricKey) -> VaultError? {
        do throws(VaultError) {
            try append(uses, key: key)
            return nil
        } catch {
            return error
        }
    }

    /// Deletes passkeys permanently; each is durable before the next.
    ///
    /// - Returns: The number of deleted records, and the passkeys that stay, because another revision has replaced the one
    ///   that was read, and the other side does not have it. Those that are gone already are in neither.
    private func delete(
        _ ids: [ExchangedPasskey.ID],
        of gift: PasskeyGift,
        key: SymmetricKey
    ) throws(VaultError) -> (count: Int, changed: [ExchangedPasskey.ID]) {
        let records = try records(key: key)
        let device = try state.device().id
        var seen = try state.seen(VaultKeyRing(key))
        var count = 0
        var changed: [ExchangedPasskey.ID] = []
        for id in ids {
            for source in gift.sources[id] ?? [] {
                guard let record = records.all[source.record], !record.isDeleted else { continue }
                guard record.newest == source.revision else {
                    if changed.last != id { changed.append(id) }
                    continue
                }
                let revision = try revision(of: source.record, after: record.newest, device: device)
                try write(seal(.deletion, id: source.record, revision: revision, key: key))
                seen.insert(source.record, newest: revision, isDeleted: true)
                count += 1
            }
        }
        if count > 0 { try self.record(seen, key: key, orThrow: VaultError.deletionNotRecorded) }
        return (count, changed)
    }
}
