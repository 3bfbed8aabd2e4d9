// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HybridCTAP
internal import HybridRelyingParty

/// Routes for registrations, sign-ins and the list of passkeys.
///
/// Options are requested with a small body; the body of a response is the JSON of the credential alone.
struct PasskeyRoutes: Sendable {
    private struct NewAccount: Decodable {
        let name: String
        let displayName: String
    }

    private struct Addition: Decodable {
        /// True for an automatic upgrade after a sign-in with a password.
        let conditional: Bool
    }

    private struct SignIn: Decodable {
        /// True for the account that was signed in before, whose passkeys are in the allow list.
        let remembered: Bool
    }

    private struct Change: Decodable {
        let id: String
        let name: String?
    }

    let site: Site

    func add(to router: Router<BasicRequestContext>) {
        router.post("/api/accounts/options") { request, _ in try await newAccountOptions(request) }
        router.post("/api/accounts") { request, _ in try await newAccount(request) }
        router.post("/api/passkeys/options") { request, _ in try await additionOptions(request) }
        router.post("/api/passkeys") { request, _ in try await addition(request) }
        router.post("/api/sign-in/options") { request, _ in try await signInOptions(request) }
        router.post("/api/sign-in") { request, _ in try await signIn(request) }
        router.post("/api/passkeys/rename") { request, _ in
            let (session, account) = try await site.account(request)
            let change = try await site.bodies.value(Change.self, of: request)
            guard let name = change.name.flatMap(ShownName.init) else { throw SiteError.malformedName }
            let changed = try await site.store.renamePasskey(change.id, of: account.user.id, to: name.text)
            return try await site.response(changed, session)
        }
        router.post("/api/passkeys/delete") { request, _ in
            let (session, account) = try await site.account(request)
            let change = try await site.bodies.value(Change.self, of: request)
            let changed = try await site.store.deletePasskey(change.id, of: account.user.id)
            return try await site.response(changed, session)
        }
    }

    // MARK: Registration

    private func newAccountOptions(_ request: Request) async throws -> Response {
        let session = await site.session(request)
        let new = try await site.bodies.value(NewAccount.self, of: request)
        let user = try UserEntity(newAccount: new.name, displayName: new.displayName)
        try await site.store.check(newName: user.name)
        let pending = site.party.beginRegistration(of: user)
        site.newAccounts.add(pending, session: session.id)
        return Response.json(bytes: pending.optionsJSON).setting(session, as: site.cookie)
    }

    private func newAccount(_ request: Request) async throws -> Response {
        let session = await site.session(request)
        let (passkey, user) = try await verified(request, in: site.newAccounts, session)
        let account = Account(user: user, passkeys: [passkey])
        try await site.store.add(account)
        return try await site.signIn(account, replacing: session)
    }

    private func additionOptions(_ request: Request) async throws -> Response {
        let (session, account) = try await site.account(request)
        let addition = try await site.bodies.value(Addition.self, of: request)
        let pending = site.party.beginRegistration(
            of: account.user,
            registered: account.passkeys.map(\.record),
            isConditional: addition.conditional
        )
        site.additions.add(pending, session: session.id)
        return Response.json(bytes: pending.optionsJSON)
    }

    private func addition(_ request: Request) async throws -> Response {
        let (session, account) = try await site.account(request)
        let (passkey, user) = try await verified(request, in: site.additions, session)
        guard user.id == account.user.id else { throw SiteError.signedOut }
        return try await site.response(site.store.add(passkey, to: account.user.id), session)
    }

    private func verified(
        _ request: Request,
        in ceremonies: ChallengeStore<PendingRegistration>,
        _ session: Session
    ) async throws -> (AccountPasskey, UserEntity) {
        let json = try await site.bodies.bytes(of: request)
        do {
            let response = try RegistrationResponse(json: json)
            let ceremony = try ceremonies.take(response.clientData, session: session.id)
            let registration = try await site.party.verify(
                response,
                for: ceremony,
                isRegistered: site.store.isRegistered(response.credentialID)
            )
            let passkey = AccountPasskey(
                record: registration.record,
                name: Self.firstName(of: registration.record),
                created: .now
            )
            return (passkey, ceremony.user)
        } catch {
            throw SiteError(error)
        }
    }

    /// Returns a name that the user can change.
    private static func firstName(of record: CredentialRecord) -> String {
        let transports = record.transports
        if transports.contains("hybrid") { return "Phone" }
        return transports.contains("internal") ? "This device" : "Security key"
    }

    // MARK: Sign-in

    private func signInOptions(_ request: Request) async throws -> Response {
        let session = await site.session(request)
        let body = try await site.bodies.value(SignIn.self, of: request)
        let pending: PendingAuthentication
        if body.remembered {
            let remembered = await site.store.account(session.remembered)
            guard let account = remembered else { throw SiteError.noAccountRemembered }
            pending = site.party.beginAuthentication(of: account.user.id, allowed: account.passkeys.map(\.record))
        } else {
            pending = site.party.beginAuthentication()
        }
        site.signIns.add(pending, session: session.id)
        return Response.json(bytes: pending.optionsJSON).setting(session, as: site.cookie)
    }

    private func signIn(_ request: Request) async throws -> Response {
        let session = await site.session(request)
        let json = try await site.bodies.bytes(of: request)
        do {
            let response = try AuthenticationResponse(json: json)
            let ceremony = try site.signIns.take(response.clientData, session: session.id)
            let stored = await site.store.record(response.credentialID)
            // The page may tell the passkey provider, so that it no longer offers the passkey.
            guard stored != nil else { throw SiteError.unknownPasskey(response.credentialID) }
            let signIn = try site.party.verify(response, for: ceremony, stored: stored)
            return try await site.signIn(site.store.update(signIn.record), replacing: session)
        } catch let rejection as ResponseRejection {
            throw SiteError(rejection)
        }
    }
}
