// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP

/// The authenticator: CTAP requests in, responses out, with a person and a store of passkeys in between.
///
/// **Actors.** A client has sent a request through an encrypted channel. The *user* is asked through
/// ``UserInteraction``. Passkeys lie in a ``CredentialStore``, locked.
///
/// **Steps**, for each request anew: the user is asked for the PIN under the name of the relying party; the PIN
/// opens the store; passkeys are looked up; the user confirms the account; a key is made or used. The store stays open
/// until ``delivered()`` or ``ended()`` say whether the client has the answer: only then it is true what the history
/// is told, and only then the passkey goes whose place a new one takes. Then it is locked. What the client must not
/// learn without consent (whether there is a passkey, whether it is excluded) is told to the user first.
///
/// **Trust.** The relying party's ID is vouched for by the client alone, which is why the user sees it before
/// anything happens. Requests are hostile until then: they were parsed within bounds and change nothing.
public actor Authenticator {
    /// How often a PIN may be tried in one request.
    public static let pinAttempts = 3

    /// This model of authenticator.
    public static let aaguid = AAGUID(
        fixed: (0x9d, 0x1c, 0x6f, 0x3a, 0x5e, 0x42, 0x4b, 0x8e, 0x8a, 0x57, 0x2f, 0x0b, 0xc4, 0x61, 0xd3, 0x70)
    )

    /// What it says of itself.
    ///
    /// The versions are those whose rules for the two commands it keeps, as phones have it: 2.1 brought passkeys that
    /// are not discoverable and the overwriting of those that are, 2.3 the wish for an attestation format. What these
    /// versions have for PINs typed on the client and for managing a security key's memory has no place over hybrid.
    /// `largeBlob` is not there, because how phones speak it over hybrid is not known for certain.
    public static let info = AuthenticatorInfo(
        versions: ["FIDO_2_0", "FIDO_2_1", "FIDO_2_3"],
        extensions: ["prf"],
        aaguid: aaguid,
        options: ["rk": true, "uv": true],
        transports: ["internal", "hybrid"],
        algorithms: [.es256],
        attestationFormats: [AttestationObject.noneFormat, AttestationObject.packedFormat]
    )

    private let store: any CredentialStore
    private let user: any UserInteraction
    /// The request that opened the store last, until it is known whether the client has the answer.
    private var answered: AnsweredRequest?
    /// Whether a passkey that was to be replaced stays, because the client never showed that it has the new one.
    public private(set) var keptReplaced = false

    /// Why the last request was not fulfilled, if it was not.
    public private(set) var lastFailure: AuthenticatorFailure?
    /// How many requests created or used a passkey.
    public private(set) var fulfilled = 0
    /// Why the history could not be written to, if it could not.
    public private(set) var historyFailure: StoreFailure?

    /// An authenticator over a store and a person.
    public init(store: any CredentialStore, user: any UserInteraction) {
        self.store = store
        self.user = user
    }

    /// Answers one request; a cancelled task answers *cancelled* and changes nothing.
    public func answer(_ request: CTAPRequest) async -> CTAPResponse {
        await ended()
        do throws(AuthenticatorFailure) {
            let response: CTAPResponse
            switch request {
            case .makeCredential(let request):
                try checkPatience()
                response = .success(try await makeCredential(request).encoded)
            case .getAssertion(let request):
                try checkPatience()
                response = .success(try await getAssertion(request).encoded)
            case .getInfo:
                return .success(Self.info.encoded)
            case .selection:
                // Phones serve one client at a time; there is nothing to select.
                return .failure(.invalidCommand)
            }
            fulfilled += 1
            lastFailure = nil
            return response
        } catch {
            lastFailure = error
            return .failure(error.ctapStatus)
        }
    }

    /// The last answer was sent: the history is told, unless a passkey waits for its replacement to be heard of.
    public func sent() async {
        guard let request = answered else { return }
        guard request.replaced.isEmpty else {
            answered?.wasSent = true
            return
        }
        answered = nil
        await conclude(request, wasHeard: true)
    }

    /// The client has shown that it has the last answer: what the new passkey in it replaces is deleted now.
    ///
    /// An answer that was sent may still be lost on its way, and then the old passkey is the only one that the site
    /// knows. So nothing is deleted without this call. A history that can't be written changes nothing; see ``historyFailure``.
    ///
    /// - Throws: ``StoreFailure``; then some that were to be deleted are still there, and the new passkey is as well.
    public func delivered() async throws(StoreFailure) {
        guard let request = answered else { return }
        answered = nil
        do throws(StoreFailure) {
            if !request.replaced.isEmpty { try await request.store.delete(request.replaced, of: request.relyingParty) }
        } catch {
            await conclude(request, wasHeard: true)
            throw error
        }
        await conclude(request, wasHeard: true)
    }

    /// The client hears nothing more: the history is told what came of the last request, if it was not yet.
    public func ended() async {
        guard let request = answered else { return }
        answered = nil
        keptReplaced = request.wasSent
        await conclude(request, wasHeard: request.wasSent)
    }

    /// Writes the history and locks the store.
    private func conclude(_ request: AnsweredRequest, wasHeard: Bool) async {
        do throws(StoreFailure) {
            try await request.store.record(request.served(wasHeard: wasHeard))
        } catch {
            historyFailure = error
        }
        await request.store.lock()
    }

    /// Who said no is not asked again by the same client.
    private func checkPatience() throws(AuthenticatorFailure) {
        if let lastFailure, lastFailure.endsPrompts { throw lastFailure }
    }

    private func makeCredential(
        _ request: MakeCredentialRequest
    ) async throws(AuthenticatorFailure) -> MakeCredentialResponse {
        guard request.algorithms.contains(.es256) else { throw .noSupportedAlgorithm }
        let relyingParty = request.relyingParty.id
        let operation = RequestedOperation.create(relyingParty)
        let opened = try await verifiedStore(for: operation)
        return try await keeping(opened, for: operation) { () async throws(AuthenticatorFailure) in
            let excluded = Set(request.excludeList.filter(\.isPublicKey).map(\.id))
            let existing = try await self.passkeys(in: opened, for: relyingParty)
            guard !existing.contains(where: { excluded.contains($0.id) }) else {
                try await self.told(.alreadyRegistered, relyingParty)
                throw .alreadyRegistered
            }
            // CTAP 2.1 §6.1.2: a discoverable passkey takes the place of the account's one before.
            let replaced = existing.filter {
                request.residentKey && $0.isDiscoverable && $0.user.id == request.user.id
            }
            try await self.asking { () async throws(UserRefusal) in
                try await self.user.confirmCreation(
                    of: request.user,
                    for: relyingParty,
                    replacing: replaced.map(\.user)
                )
            }
            let secret = PRFSecret.random()
            let passkey = Passkey(
                id: CredentialID.random(),
                relyingParty: relyingParty,
                user: request.user,
                privateKey: P256.Signing.PrivateKey(compactRepresentable: false),
                isBackupEligible: true,
                isDiscoverable: request.residentKey,
                // Also for sites that do not ask for it now: they may when they sign in.
                prfSecret: secret
            )
            let signing = SigningPasskey(passkey, isBackedUp: opened.isBackedUp)
            let response = try signing.creation(for: request)
            try self.checkCancellation()
            do throws(StoreFailure) {
                // Durable before the client hears of it: a passkey the site knows must never be lost here.
                try await opened.add(passkey)
            } catch {
                throw AuthenticatorFailure(error)
            }
            return Fulfilled(response: response, credential: passkey.id, replaced: replaced.map(\.id))
        }
    }

    private func getAssertion(
        _ request: GetAssertionRequest
    ) async throws(AuthenticatorFailure) -> GetAssertionResponse {
        // A silent look for passkeys would tell a client what the user has not agreed to tell.
        guard request.userPresence else { throw .silentRequest }
        let relyingParty = request.relyingPartyID
        let operation = RequestedOperation.signIn(relyingParty)
        let opened = try await verifiedStore(for: operation)
        return try await keeping(opened, for: operation) { () async throws(AuthenticatorFailure) in
            let allowed = Set(request.allowList.filter(\.isPublicKey).map(\.id))
            let candidates = try await self.passkeys(in: opened, for: relyingParty)
                .filter { request.allowList.isEmpty ? $0.isDiscoverable : allowed.contains($0.id) }
            guard !candidates.isEmpty else {
                try await self.told(.noPasskey, relyingParty)
                throw .noPasskey
            }
            let index = try await self.asking { () async throws(UserRefusal) in
                try await self.user.chooseAccount(candidates.map(\.user), for: relyingParty)
            }
            guard candidates.indices.contains(index) else { throw .declined }
            try self.checkCancellation()
            let signing = SigningPasskey(candidates[index], isBackedUp: opened.isBackedUp)
            let response = try signing.assertion(for: request)
            return Fulfilled(response: response, credential: candidates[index].id)
        }
    }
}

// MARK: - The person and the store

extension Authenticator {
    private func verifiedStore(
        for operation: RequestedOperation
    ) async throws(AuthenticatorFailure) -> any UnlockedCredentialStore {
        var problem: PINProblem?
        for _ in 0..<Self.pinAttempts {
            let asked = problem
            let pin = try await asking { () async throws(UserRefusal) in
                try await self.user.askPIN(for: operation, problem: asked)
            }
            do throws(UnlockFailure) {
                return try await store.unlock(with: pin)
            } catch {
                guard let attemptsLeft = error.attemptsLeft else { throw AuthenticatorFailure(error) }
                // Another answer could not be judged before the wait is over.
                guard attemptsLeft > 0 else { throw .wrongPIN }
                problem = .wrong(attemptsLeft: attemptsLeft)
            }
        }
        throw .wrongPIN
    }

    /// Runs `body` and keeps the store for what follows the answer, whatever that is.
    private func keeping<Response: Sendable>(
        _ opened: any UnlockedCredentialStore,
        for operation: RequestedOperation,
        _ body: () async throws(AuthenticatorFailure) -> Fulfilled<Response>
    ) async throws(AuthenticatorFailure) -> Response {
        do throws(AuthenticatorFailure) {
            let fulfilled = try await body()
            answered = AnsweredRequest(
                store: opened,
                operation: operation,
                outcome: .done,
                credential: fulfilled.credential,
                replaced: fulfilled.replaced
            )
            return fulfilled.response
        } catch {
            answered = AnsweredRequest(store: opened, operation: operation, outcome: error.outcome)
            throw error
        }
    }

    private func asking<Result: Sendable>(
        _ body: () async throws(UserRefusal) -> Result
    ) async throws(AuthenticatorFailure) -> Result {
        try checkCancellation()
        do throws(UserRefusal) {
            return try await body()
        } catch {
            try checkCancellation()
            switch error {
            case .declined: throw .declined
            case .timedOut: throw .userTimedOut
            case .unavailable(let sentence): throw .userUnavailable(sentence)
            }
        }
    }

    private func told(_ notice: Notice, _ relyingParty: RelyingPartyID) async throws(AuthenticatorFailure) {
        try await asking { () async throws(UserRefusal) in
            try await self.user.tell(notice, relyingParty: relyingParty)
        }
    }

    private func passkeys(
        in opened: any UnlockedCredentialStore,
        for relyingParty: RelyingPartyID
    ) async throws(AuthenticatorFailure) -> [Passkey] {
        do throws(StoreFailure) {
            return try await opened.passkeys(for: relyingParty)
        } catch {
            throw AuthenticatorFailure(error)
        }
    }

    private func checkCancellation() throws(AuthenticatorFailure) {
        if Task.isCancelled { throw .cancelled }
    }
}

extension AAGUID {
    // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
    typealias Sixteen = (
        UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
    )

    init(fixed bytes: Sixteen) {
        self = withUnsafeBytes(of: bytes) { AAGUID(bytes: Array($0)) } ?? .zero
    }
}

extension CredentialID {
    /// 32 random bytes.
    static func random() -> CredentialID {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        guard let id = CredentialID(bytes: bytes) else { preconditionFailure("32 bytes are a credential ID") }
        return id
    }
}
