// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridRelyingParty
import HybridWebAuthn
import Synchronization
import Testing

/// A website and a phone, connected by the modules that the programs use.
struct Website {
    var party: RelyingParty
    let phone = Wallet()
    let origin: Origin

    init(attestation: AttestationPolicy = .notRequested) throws {
        origin = try Origin("https://example.com")
        party = try RelyingParty(id: #require(RelyingPartyID("example.com")), name: "Example", origins: [origin])
        party.attestation = attestation
    }

    static func account(_ name: String = "ada") throws -> UserEntity {
        UserEntity(id: try #require(UserHandle(bytes: Array("handle-\(name)".utf8))), name: name, displayName: name)
    }

    /// Returns the JSON that a browser on this website returns for options.
    func answer(_ options: [UInt8]) async throws -> [UInt8] {
        let json = Array(#"{"publicKey":"#.utf8) + options + Array("}".utf8)
        let ceremony = try Ceremony(PublicKeyOptions(json: json), origin: origin)
        let authenticator = Authenticator(store: phone, user: WillingUser())
        let request = try ceremony.ctapRequest(for: Authenticator.info)
        let response = await authenticator.answer(request)
        await authenticator.responseSent()
        return try ceremony.responseJSON(body: response.body, phone: Authenticator.info)
    }

    /// Registers a passkey.
    func register(_ name: String = "ada") async throws -> VerifiedRegistration {
        let pending = party.beginRegistration(of: try Self.account(name))
        let response = try RegistrationResponse(json: try await answer(pending.optionsJSON))
        return try await party.verify(response, for: pending, isRegistered: false)
    }
}

/// Passkeys in memory, unlocked by any PIN.
final class Wallet: CredentialStore, UnlockedCredentialStore {
    private let stored = Mutex<[Passkey]>([])
    let isBackedUp = false

    var passkeys: [Passkey] { stored.withLock { $0 } }

    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore { self }

    func passkeys(for relyingParty: RelyingPartyID) async throws(StoreFailure) -> [Passkey] {
        passkeys.filter { $0.relyingParty == relyingParty }
    }

    func add(_ passkey: Passkey) async throws(StoreFailure) { stored.withLock { $0.append(passkey) } }
    func delete(_ credentials: [CredentialID], of relyingParty: RelyingPartyID) async throws(StoreFailure) {}
    func record(_ request: UsageEntry) async throws(StoreFailure) {}
    func lock() async {}
}

/// A user who consents to everything.
private struct WillingUser: UserInteraction {
    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        guard let pin = Array("2468".utf8).withUnsafeBytes({ PIN(utf8: $0) }) else { throw .declined }
        return pin
    }

    func confirmCreation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {}

    func chooseAccount(_ accounts: [UserEntity], for operation: RequestedOperation) async throws(UserRefusal) -> Int {
        0
    }

    func show(_ notice: Notice, for operation: RequestedOperation) async throws(UserRefusal) {}
}
