// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HybridCTAP
internal import HybridRelyingParty

/// Accounts and sessions in memory.
///
/// Each method checks and changes the state without suspension, so concurrent requests cannot come between.
actor SiteStore {
    private let limits: ShinyLimits
    private var accounts: [UserHandle: Account] = [:]
    private var handles: [String: UserHandle] = [:]
    private var owners: [CredentialID: UserHandle] = [:]
    private var sessions: Sessions

    init(limits: ShinyLimits) {
        self.limits = limits
        sessions = Sessions(limit: limits.sessions, lifetime: limits.sessionLifetime)
    }

    // MARK: Sessions

    func session(_ id: String?) -> Session? { sessions.session(id) }

    /// Returns the session with this identifier, or a new one.
    func sessionOrNew(_ id: String?) -> Session { sessions.session(id) ?? sessions.add() }

    func signIn(_ handle: UserHandle, replacing id: String?) -> Session {
        sessions.add(account: handle, replacing: id)
    }

    /// Ends a session; the new one remembers the account.
    func signOut(_ session: Session) -> Session {
        sessions.add(remembered: session.account ?? session.remembered, replacing: session.id)
    }

    /// Ends a session; the new one remembers nothing.
    func forget(_ session: Session) -> Session { sessions.add(replacing: session.id) }

    // MARK: Accounts

    func account(_ handle: UserHandle?) -> Account? { handle.flatMap { accounts[$0] } }

    func account(named name: String) -> Account? { account(handles[Self.key(name)]) }

    /// Throws unless an account with this name can be added.
    func check(newName name: String) throws(SiteError) {
        guard handles[Self.key(name)] == nil else { throw .nameTaken }
        guard accounts.count < limits.accounts else { throw .full }
    }

    func add(_ account: Account) throws(SiteError) {
        try check(newName: account.user.name)
        for passkey in account.passkeys where owners[passkey.record.id] != nil { throw .passkeyRegistered }
        handles[Self.key(account.user.name)] = account.user.id
        for passkey in account.passkeys { owners[passkey.record.id] = account.user.id }
        accounts[account.user.id] = account
    }

    func rename(_ handle: UserHandle, name: String, displayName: String) throws(SiteError) -> Account {
        guard var account = accounts[handle] else { throw .signedOut }
        let (old, new) = (Self.key(account.user.name), Self.key(name))
        guard old == new || handles[new] == nil else { throw .nameTaken }
        handles[old] = nil
        handles[new] = handle
        account.user.name = name
        account.user.displayName = displayName
        accounts[handle] = account
        return account
    }

    /// Names that differ only in case are the same.
    private static func key(_ name: String) -> String { name.lowercased() }

    // MARK: Passwords

    /// Throws if the account accepts no password at this time.
    func checkPause(_ handle: UserHandle, now: ContinuousClock.Instant = .now) throws(SiteError) {
        guard let end = accounts[handle]?.blockedUntil, now < end else { return }
        throw .passwordPause
    }

    func recordPassword(isCorrect: Bool, for handle: UserHandle, now: ContinuousClock.Instant = .now) {
        guard !isCorrect else {
            accounts[handle]?.wrongPasswords = 0
            return
        }
        accounts[handle]?.wrongPasswords += 1
        guard let account = accounts[handle], account.wrongPasswords >= limits.wrongPasswords else { return }
        accounts[handle]?.wrongPasswords = 0
        accounts[handle]?.blockedUntil = now + limits.passwordPause
    }

    // MARK: Passkeys

    func isRegistered(_ id: CredentialID) -> Bool { owners[id] != nil }

    func record(_ id: CredentialID) -> CredentialRecord? {
        account(owners[id])?.passkeys.first { $0.record.id == id }?.record
    }

    func add(_ passkey: AccountPasskey, to handle: UserHandle) throws(SiteError) -> Account {
        guard var account = accounts[handle] else { throw .signedOut }
        guard owners[passkey.record.id] == nil else { throw .passkeyRegistered }
        guard account.passkeys.count < limits.passkeys else { throw .tooManyPasskeys(limits.passkeys) }
        account.passkeys.append(passkey)
        owners[passkey.record.id] = handle
        accounts[handle] = account
        return account
    }

    /// Stores the record after a sign-in.
    ///
    /// - Throws: `unknownPasskey` if the passkey was deleted in the meantime.
    func update(_ record: CredentialRecord, at time: Date = .now) throws(SiteError) -> Account {
        guard let handle = owners[record.id], var account = accounts[handle],
            let index = account.passkeys.firstIndex(where: { $0.record.id == record.id })
        else { throw .unknownPasskey(record.id) }
        account.passkeys[index].record = record
        account.passkeys[index].lastUsed = time
        accounts[handle] = account
        return account
    }

    func renamePasskey(_ id: String, of handle: UserHandle, to name: String) throws(SiteError) -> Account {
        try change(handle) { account throws(SiteError) in
            let index = try Self.index(id, in: account)
            account.passkeys[index].name = name
        }
    }

    /// Deletes a passkey of the account.
    ///
    /// - Throws: `lastWayIn` if the account could not be used any more.
    func deletePasskey(_ id: String, of handle: UserHandle) throws(SiteError) -> Account {
        try change(handle) { account throws(SiteError) in
            let index = try Self.index(id, in: account)
            guard account.password != nil || account.passkeys.count > 1 else { throw .lastWayIn }
            owners[account.passkeys.remove(at: index).record.id] = nil
        }
    }

    private func change(
        _ handle: UserHandle,
        _ body: (inout Account) throws(SiteError) -> Void
    ) throws(SiteError) -> Account {
        guard var account = accounts[handle] else { throw .signedOut }
        try body(&account)
        accounts[handle] = account
        return account
    }

    private static func index(_ id: String, in account: Account) throws(SiteError) -> Int {
        guard let index = account.passkeys.firstIndex(where: { $0.record.id.bytes.base64URL == id }) else {
            throw .noSuchPasskey
        }
        return index
    }
}
