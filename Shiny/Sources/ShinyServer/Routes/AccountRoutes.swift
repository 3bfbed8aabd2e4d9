// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HybridCTAP
internal import HybridRelyingParty

/// Routes for the session, the names of the account, and passwords.
struct AccountRoutes: Sendable {
    private struct NewAccount: Decodable {
        let name: String
        let displayName: String
        let password: String
    }

    private struct PasswordSignIn: Decodable {
        let name: String
        let password: String
    }

    private struct Names: Decodable {
        let name: String
        let displayName: String
    }

    let site: Site

    func add(to router: Router<BasicRequestContext>) {
        router.post("/api/session") { request, _ in
            let session = await site.session(request)
            return try await site.response(site.store.account(session.account), session)
        }
        router.post("/api/accounts/password") { request, _ in try await create(request) }
        router.post("/api/sign-in/password") { request, _ in try await signIn(request) }
        router.post("/api/sign-out") { request, _ in
            let session = await site.store.signOut(site.session(request))
            return try await site.response(nil, session)
        }
        router.post("/api/forget") { request, _ in
            let session = await site.store.forget(site.session(request))
            return try await site.response(nil, session)
        }
        router.post("/api/account/rename") { request, _ in
            let (session, account) = try await site.account(request)
            let names = try await site.bodies.value(Names.self, of: request)
            guard let name = ShownName(names.name), let displayName = ShownName(names.displayName) else {
                throw SiteError.malformedName
            }
            let renamed = try await site.store.rename(
                account.user.id,
                name: name.text,
                displayName: displayName.text
            )
            return try await site.response(renamed, session)
        }
    }

    private func create(_ request: Request) async throws -> Response {
        let session = await site.session(request)
        let new = try await site.bodies.value(NewAccount.self, of: request)
        let user = try UserEntity(newAccount: new.name, displayName: new.displayName)
        guard new.password.count >= PasswordHash.minimumLength,
            new.password.utf8.count <= PasswordHash.maximumLength
        else { throw SiteError.unsuitablePassword }
        try await site.store.check(newName: user.name)
        let hash = try await hash { try PasswordHash(new.password) }
        let account = Account(user: user, password: hash)
        try await site.store.add(account)
        return try await site.signIn(account, replacing: session)
    }

    private func signIn(_ request: Request) async throws -> Response {
        let session = await site.session(request)
        let body = try await site.bodies.value(PasswordSignIn.self, of: request)
        guard body.password.utf8.count <= PasswordHash.maximumLength else { throw SiteError.wrongPassword }
        guard let name = ShownName(body.name), let account = await site.store.account(named: name.text),
            let stored = account.password
        else {
            // The same work as for an account, so that the time does not reveal names.
            _ = try await hash { try PasswordHash(body.password) }
            throw SiteError.wrongPassword
        }
        try await site.store.checkPause(account.user.id)
        let isCorrect = try await hash { try stored.matches(body.password) }
        await site.store.recordPassword(isCorrect: isCorrect, for: account.user.id)
        guard isCorrect, let account = await site.store.account(account.user.id) else { throw SiteError.wrongPassword }
        return try await site.signIn(account, replacing: session)
    }

    private func hash<Result: Sendable>(_ work: @Sendable @escaping () throws -> Result) async throws -> Result {
        do {
            return try await site.hashing.perform(work)
        } catch is PasswordHashing.Busy {
            throw SiteError.busy
        }
    }
}

extension UserEntity {
    /// Creates an account with a random handle.
    init(newAccount name: String, displayName: String) throws(SiteError) {
        guard let name = ShownName(name), let displayName = ShownName(displayName.isEmpty ? name.text : displayName),
            let handle = UserHandle(bytes: Challenge.random().bytes)
        else { throw .malformedName }
        self.init(id: handle, name: name.text, displayName: displayName.text)
    }
}
