// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridCTAP
package import HybridCredentialExchange

/// The changes of one passkey that signals request.
package struct SignaledChange: Equatable, Sendable {
    /// The passkey before the changes.
    package let passkey: PasskeySummary
    /// True to hide the passkey, false to show it again; `nil` if that does not change.
    package let hides: Bool?
    /// The account with its new names; `nil` if these do not change.
    package let user: UserEntity?
}

extension UnlockedVault {
    /// Returns the changes that signals request, in their order, without any that is already made.
    ///
    /// - Throws: ``VaultError``.
    package func changes(for signals: [PasskeySignal]) async throws(VaultError) -> [SignaledChange] {
        try await summaries().compactMap { passkey in
            var (isHidden, user) = (passkey.isHidden, passkey.user)
            for signal in signals where signal.relyingParty == passkey.relyingParty {
                switch signal {
                case .unknownCredential(_, let id): if id == passkey.credential { isHidden = true }
                case .allAcceptedCredentials(_, let account, let accepted):
                    guard let id = passkey.credential, account == user?.id else { continue }
                    isHidden = !accepted.contains(id)
                case .currentUserDetails(_, let account): if account.id == user?.id { user = account }
                }
            }
            guard isHidden != passkey.isHidden || user != passkey.user else { return nil }
            return SignaledChange(
                passkey: passkey,
                hides: isHidden == passkey.isHidden ? nil : isHidden,
                user: user == passkey.user ? nil : user
            )
        }
    }

    /// Makes changes that ``changes(for:)`` has returned; passkeys that were deleted since then are skipped.
    ///
    /// Each change is durable before the next is made, and a second call makes the rest.
    ///
    /// - Returns: The number of changed passkeys.
    /// - Throws: ``VaultError``; after ``VaultError/changeNotRecorded(_:)`` all changes are durable.
    @discardableResult
    package func make(_ changes: [SignaledChange]) async throws(VaultError) -> Int {
        try await perform { key, files throws(VaultError) in try files.make(changes, key: key) }
    }
}

extension VaultFiles {
    func make(_ changes: [SignaledChange], key: SymmetricKey) throws(VaultError) -> Int {
        let records = try records(key: key)
        let device = try state.device().id
        var seen = try state.seen(VaultKeyRing(key))
        var count = 0
        for change in changes {
            let id = change.passkey.record
            guard let record = records.all[id], var body = records.reveal(id) else { continue }
            if let hides = change.hides { body.hide(hides) }
            if let user = change.user { body.rename(name: user.name, displayName: user.displayName) }
            let revision = try revision(of: id, after: record.newest, device: device)
            let content = RecordBody(kind: RecordBody.passkey, members: body.members)
            try write(seal(content, id: id, revision: revision, key: key))
            seen.insert(id, newest: revision, isDeleted: false)
            count += 1
        }
        if count > 0 { try record(seen, key: key) }
        return count
    }
}
