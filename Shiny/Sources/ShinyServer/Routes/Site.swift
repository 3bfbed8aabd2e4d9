// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HybridCTAP
internal import HybridRelyingParty

/// The parts that all routes use.
struct Site: Sendable {
    let configuration: ShinyConfiguration
    let store: SiteStore
    let cookie: SessionCookie
    let bodies: BodyReader
    let hashing: PasswordHashing
    /// Registrations that create an account.
    let newAccounts = ChallengeStore<PendingRegistration>(capacity: 1_000)
    /// Registrations that add a passkey to an account.
    let additions = ChallengeStore<PendingRegistration>(capacity: 1_000)
    let signIns = ChallengeStore<PendingAuthentication>(capacity: 5_000)

    init(_ configuration: ShinyConfiguration) {
        self.configuration = configuration
        store = SiteStore(limits: configuration.limits)
        cookie = SessionCookie(origin: configuration.origin, limits: configuration.limits)
        bodies = BodyReader(limits: configuration.limits)
        hashing = PasswordHashing(limit: configuration.limits.waitingPasswords)
    }

    var party: RelyingParty { configuration.relyingParty }

    /// Returns the request's session, or a new one.
    func session(_ request: Request) async -> Session {
        await store.sessionOrNew(cookie.value(in: request))
    }

    /// Returns the account that is signed in.
    func account(_ request: Request) async throws -> (session: Session, account: Account) {
        guard let session = await store.session(cookie.value(in: request)),
            let account = await store.account(session.account)
        else { throw SiteError.signedOut }
        return (session, account)
    }

    /// Returns a response with the account and, if it is new, the session.
    func response(_ account: Account?, _ session: Session) async throws -> Response {
        let remembered = await store.account(session.remembered)
        let view = SessionView(
            rpId: party.id.text,
            account: account.map(AccountView.init),
            remembered: account == nil ? remembered?.user.displayName : nil
        )
        return try Response.json(view).setting(session, as: cookie)
    }

    /// Signs in; the session gets a new identifier.
    func signIn(_ account: Account, replacing session: Session) async throws -> Response {
        try await response(account, store.signIn(account.user.id, replacing: session.id))
    }
}
