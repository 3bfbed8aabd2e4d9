// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
internal import HybridPrimitives

/// An authenticator that answers CTAP requests with a user's consent and passkeys from a store.
///
/// **Roles.** The *client* has sent a request over an encrypted channel. The *user* is prompted through
/// ``UserInteraction``. The passkeys are kept in a locked ``CredentialStore``.
///
/// **Steps** of each request:
/// 1. The user enters the PIN, in a prompt that names the relying party. The PIN unlocks the store.
/// 2. Passkeys are looked up, and the user confirms the account.
/// 3. A key is created or used.
/// 4. ``responseSent()``, ``responseDelivered()`` or ``sessionEnded()`` reports what happened to the response. Only
///    then is the outcome added to the history. Passkeys that the new one replaces are deleted only after delivery.
/// 5. The store is locked.
///
/// Some facts must not reach the client without the user's consent: that there is no passkey, or that an excluded
/// one exists. The user therefore sees them first.
///
/// **Trust.** Only the client vouches for the relying party ID, so the user sees the ID before anything happens.
/// Until then a request is untrusted: it was parsed within limits and changes nothing.
public actor Authenticator {
    /// Maximum number of PIN attempts in one request.
    public static let pinAttempts = 3

    /// Number of requests for which the user may be asked in one session, whatever their outcome.
    ///
    /// A client that could ask again and again would wear the user down.
    public static let maximumPromptedRequests = 3

    /// Number of prompts that the user may see in one session, whatever their kind and outcome.
    ///
    /// Each request needs two: one for the PIN, and one for the account or a notice. Six suffice for three such
    /// requests, and for a second one after two wrong PINs.
    public static let maximumPrompts = 6

    /// Identifier of this authenticator model.
    public static let aaguid =
        AAGUID(bytes: [
            0x9d, 0x1c, 0x6f, 0x3a, 0x5e, 0x42, 0x4b, 0x8e, 0x8a, 0x57, 0x2f, 0x0b, 0xc4, 0x61, 0xd3, 0x70,
        ]) ?? .zero

    /// The response to `authenticatorGetInfo`.
    ///
    /// As on phones, `versions` lists the CTAP versions whose rules for `authenticatorMakeCredential` and
    /// `authenticatorGetAssertion` apply here. Version 2.1 added non-discoverable passkeys and the replacement of
    /// discoverable ones; 2.3 added the preference for an attestation format. The commands of these versions for PINs
    /// entered on the client and for managing a security key's memory do not apply to hybrid transports. `largeBlob` is
    /// missing because the behavior of phones over hybrid transports is not documented. `credProtect` holds without being
    /// stored: no passkey is used without verification. `signedData` is an extension of these programs
    /// (`SignedDataInput`).
    public static let info = AuthenticatorInfo(
        versions: ["FIDO_2_0", "FIDO_2_1", "FIDO_2_3"],
        extensions: [PRFInput.extensionName, SignedDataInput.extensionName, CredentialProtection.extensionName],
        aaguid: aaguid,
        options: ["rk": true, "uv": true],
        transports: ["internal", "hybrid"],
        algorithms: [.es256, .esp256],
        attestationFormats: [AttestationObject.noneFormat, AttestationObject.packedFormat]
    )

    private let store: any CredentialStore
    private let user: any UserInteraction
    /// The last request that unlocked the store, until it is known whether the client has the response.
    private var answered: AnsweredRequest?
    /// Number of requests for which the user was asked.
    private var promptedRequests = 0
    /// Number of prompts that the user saw.
    private var shownPrompts = 0
    /// True if a passkey that should have been replaced was kept, because the client did not confirm the response.
    public private(set) var keptReplaced = false

    /// The failure of the last request; `nil` if that request was fulfilled, or if there was none.
    public private(set) var lastFailure: AuthenticatorFailure?
    /// Number of requests that created or used a passkey.
    public private(set) var fulfilledCount = 0
    /// The last failure to write the history; `nil` if there was none.
    public private(set) var historyFailure: StoreFailure?
    /// The failure to record on this device that a new passkey exists, if it failed; the passkey is durable.
    public private(set) var recordingFailure: StoreFailure?

    /// Creates an authenticator for the passkeys of `store`.
    public init(store: any CredentialStore, user: any UserInteraction) {
        self.store = store
        self.user = user
    }

    /// Answers one request.
    ///
    /// If the task is canceled before the operation takes place, the response is `CTAP2_ERR_KEEPALIVE_CANCEL` and
    /// nothing changes.
    public func answer(_ request: CTAPRequest) async -> CTAPResponse {
        await sessionEnded()
        do throws(AuthenticatorFailure) {
            let response: CTAPResponse
            switch request {
            case .makeCredential(let request):
                try checkMayPrompt()
                response = .success(try await makeCredential(request).encoded)
            case .getAssertion(let request):
                try checkMayPrompt()
                response = .success(try await getAssertion(request).encoded)
            case .getInfo:
                return .success(Self.info.encoded)
            case .selection:
                // Only one authenticator answers over a hybrid transport; there is nothing to select.
                return .failure(.invalidCommand)
            }
            fulfilledCount += 1
            lastFailure = nil
            return response
        } catch {
            lastFailure = error
            return .failure(error.ctapStatus)
        }
    }

    /// Reports that the last response was sent.
    ///
    /// Adds the history entry and locks the store. If the new passkey replaces others, both are delayed until
    /// ``responseDelivered()`` or ``sessionEnded()``.
    public func responseSent() async {
        guard let request = answered else { return }
        guard request.replaced.isEmpty else {
            answered?.wasSent = true
            return
        }
        answered = nil
        await finish(request, wasDelivered: true)
    }

    /// Reports that the client received the last response, and deletes the passkeys that the new one replaces.
    ///
    /// A response that was sent may still be lost. The site then knows only the old passkey, so no passkey is deleted
    /// before this call. A failure to write the history does not throw; see ``historyFailure``.
    ///
    /// - Throws: ``StoreFailure`` if a deletion fails. The new passkey is kept, and some replaced ones may still exist.
    public func responseDelivered() async throws(StoreFailure) {
        guard let request = answered else { return }
        answered = nil
        do throws(StoreFailure) {
            if !request.replaced.isEmpty {
                try await request.store.delete(request.replaced, of: request.operation.relyingParty)
            }
        } catch {
            await finish(request, wasDelivered: true)
            throw error
        }
        await finish(request, wasDelivered: true)
    }

    /// Reports the end of the session, and adds the last request to the history if it is not there yet.
    public func sessionEnded() async {
        guard let request = answered else { return }
        answered = nil
        keptReplaced = request.wasSent
        await finish(request, wasDelivered: request.wasSent)
    }

    /// Adds the request to the history and locks the store.
    private func finish(_ request: AnsweredRequest, wasDelivered: Bool) async {
        do throws(StoreFailure) {
            try await request.store.record(request.served(wasDelivered: wasDelivered))
        } catch {
            historyFailure = error
        }
        await request.store.lock()
    }

    /// Throws the last failure if it forbids further prompts, as a refusal and ``maximumPromptedRequests`` do.
    private func checkMayPrompt() throws(AuthenticatorFailure) {
        if let lastFailure, lastFailure.endsPrompts { throw lastFailure }
        guard promptedRequests < Self.maximumPromptedRequests else { throw .tooManyRequests }
    }

    private func makeCredential(
        _ request: MakeCredentialRequest
    ) async throws(AuthenticatorFailure) -> MakeCredentialResponse {
        guard SigningPasskey.algorithm(request) != nil else { throw .noSupportedAlgorithm }
        let operation = try RequestedOperation(request)
        let (relyingParty, kind) = (operation.relyingParty, request.signedDataKind)
        let unlocked = try await verifiedStore(for: operation)
        return try await retaining(unlocked, for: operation) { () async throws(AuthenticatorFailure) in
            let excluded = Set(request.excludeList.filter(\.isPublicKey).map(\.id))
            let existing = try await self.passkeys(in: unlocked, for: relyingParty)
            guard !existing.contains(where: { excluded.contains($0.id) }) else {
                try await self.notify(.alreadyRegistered, operation)
                throw .alreadyRegistered
            }
            // CTAP 2.1 §6.1.2: a discoverable passkey replaces an earlier one of the same account.
            // A website does not replace an SSH key. A hidden passkey stays: the website may accept it again.
            let replaced = existing.filter {
                request.residentKey && $0.isOffered && $0.user.id == request.user.id && $0.signedDataKind == kind
            }
            try await self.prompt { () async throws(UserRefusal) in
                try await self.user.confirmCreation(
                    of: request.user,
                    for: operation,
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
                signedDataKind: kind,
                // Always created: a site that does not request `prf` now may request it at sign-in.
                prfSecret: secret
            )
            let signing = SigningPasskey(passkey, isBackedUp: unlocked.isBackedUp)
            let response = try signing.creation(for: request)
            try self.checkCancellation()
            do throws(StoreFailure) {
                // Durable before the client learns of it: a passkey that the site knows must not be lost here.
                try await unlocked.add(passkey)
            } catch {
                guard error.kind == .additionNotRecorded else { throw AuthenticatorFailure(error) }
                self.recordingFailure = error
            }
            return (response, passkey.id, replaced.map(\.id))
        }
    }

    private func getAssertion(
        _ request: GetAssertionRequest
    ) async throws(AuthenticatorFailure) -> GetAssertionResponse {
        // A silent request would reveal without consent whether there is a passkey.
        guard request.userPresence else { throw .silentRequest }
        let operation = try RequestedOperation(request)
        let unlocked = try await verifiedStore(for: operation)
        return try await retaining(unlocked, for: operation) { () async throws(AuthenticatorFailure) in
            let allowed = Set(request.allowList.filter(\.isPublicKey).map(\.id))
            let requested = try await self.passkeys(in: unlocked, for: operation.relyingParty)
                .filter { request.allowList.isEmpty ? $0.isOffered : allowed.contains($0.id) }
            let candidates = requested.filter(operation.isPermitted)
            guard !candidates.isEmpty else {
                let isUnstated = request.signedData == nil && !requested.isEmpty
                try await self.notify(isUnstated ? .dataNotStated : .noPasskey, operation)
                throw isUnstated ? .signedDataMissing : .noPasskey
            }
            let index = try await self.prompt { () async throws(UserRefusal) in
                try await self.user.chooseAccount(candidates.map(\.user), for: operation)
            }
            guard candidates.indices.contains(index) else { throw .declined }
            try self.checkCancellation()
            let signing = SigningPasskey(candidates[index], isBackedUp: unlocked.isBackedUp)
            let response = try signing.assertion(for: request)
            return (response, candidates[index].id, [])
        }
    }
}

// MARK: - User and store

extension Authenticator {
    private func verifiedStore(
        for operation: RequestedOperation
    ) async throws(AuthenticatorFailure) -> any UnlockedCredentialStore {
        try checkCancellation()
        promptedRequests += 1
        var problem: PINProblem?
        for _ in 0..<Self.pinAttempts {
            // A PIN is useless if the prompt that must follow it cannot be shown.
            guard shownPrompts + 2 <= Self.maximumPrompts else { throw .tooManyRequests }
            let current = problem
            let verification = try await prompt { () async throws(UserRefusal) in
                try await self.user.verify(for: operation, problem: current)
            }
            do throws(UnlockFailure) {
                switch verification {
                case .pin(let pin): return try await store.unlock(with: pin)
                case .key(let key): return try await store.unlock(with: key)
                }
            } catch {
                guard !error.needsPIN else {
                    problem = .keyReplaced
                    continue
                }
                guard let attemptsLeft = error.attemptsLeft else { throw AuthenticatorFailure(error) }
                // No PIN is tried until the wait is over, so asking again is useless.
                guard attemptsLeft > 0 else { throw .wrongPIN }
                problem = .wrong(attemptsLeft: attemptsLeft)
            }
        }
        throw .wrongPIN
    }

    /// Runs `body` and keeps the store unlocked until the outcome of the request is recorded.
    ///
    /// - Parameters:
    ///   - unlocked: The store.
    ///   - operation: The operation that the client requests.
    ///   - body: Returns the response, the passkey that was created or used, and those that the new one replaces.
    private func retaining<Response: Sendable>(
        _ unlocked: any UnlockedCredentialStore,
        for operation: RequestedOperation,
        _ body: () async throws(AuthenticatorFailure) -> (Response, credential: CredentialID, replaced: [CredentialID])
    ) async throws(AuthenticatorFailure) -> Response {
        do throws(AuthenticatorFailure) {
            let (response, credential, replaced) = try await body()
            answered = AnsweredRequest(
                store: unlocked,
                operation: operation,
                outcome: .done,
                credential: credential,
                replaced: replaced
            )
            return response
        } catch {
            answered = AnsweredRequest(store: unlocked, operation: operation, outcome: error.outcome)
            throw error
        }
    }

    /// Runs one prompt; cancellation takes precedence over the user's answer.
    private func prompt<Result: Sendable>(
        _ body: () async throws(UserRefusal) -> Result
    ) async throws(AuthenticatorFailure) -> Result {
        try checkCancellation()
        shownPrompts += 1
        do throws(UserRefusal) {
            return try await body()
        } catch {
            try checkCancellation()
            throw switch error {
            case .declined: .declined
            case .timedOut: .userTimedOut
            default: .userUnavailable(error.sentence)
            }
        }
    }

    private func notify(_ notice: Notice, _ operation: RequestedOperation) async throws(AuthenticatorFailure) {
        try await prompt { () async throws(UserRefusal) in try await self.user.show(notice, for: operation) }
    }

    private func passkeys(
        in unlocked: any UnlockedCredentialStore,
        for relyingParty: RelyingPartyID
    ) async throws(AuthenticatorFailure) -> [Passkey] {
        do throws(StoreFailure) {
            return try await unlocked.passkeys(for: relyingParty)
        } catch {
            throw AuthenticatorFailure(error)
        }
    }

    private func checkCancellation() throws(AuthenticatorFailure) {
        if Task.isCancelled { throw .cancelled }
    }
}

extension CredentialID {
    /// Returns an ID of 32 random bytes.
    static func random() -> CredentialID {
        let bytes = [UInt8].random(32)
        guard let id = CredentialID(bytes: bytes) else { preconditionFailure("32 bytes are a credential ID") }
        return id
    }
}

/// A request that unlocked the store and was answered, until it is known whether the client has the response.
struct AnsweredRequest: Sendable {
    let store: any UnlockedCredentialStore
    let operation: RequestedOperation
    /// The outcome if the client receives the response.
    let outcome: UsageEntry.Outcome
    var credential: CredentialID?
    var replaced: [CredentialID] = []
    /// True if the response was sent but its delivery is not confirmed yet.
    var wasSent = false

    func served(wasDelivered: Bool) -> UsageEntry {
        let isLost = outcome == .done && !wasDelivered
        return UsageEntry(operation, isLost ? .clientGone : outcome, credential: credential)
    }
}
