// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import Testing

/// An authenticator with a store, a scripted user and the parts of requests.
struct AuthenticatorFixture {
    let log: EventLog
    let store: MemoryStore
    let authenticator: Authenticator
    let relyingParty: RelyingPartyID
    let hash: ClientDataHash

    init(isBackedUp: Bool = false, _ script: (inout ScriptedUser) -> Void = { _ in }) throws {
        log = EventLog()
        store = MemoryStore(log, isBackedUp: isBackedUp)
        var user = ScriptedUser(log: log)
        script(&user)
        authenticator = Authenticator(store: store, user: user)
        relyingParty = try #require(RelyingPartyID("example.com"))
        hash = try #require(ClientDataHash(bytes: Array(SHA256.hash(data: Array("client data".utf8)))))
    }

    static func account(_ name: String) throws -> UserEntity {
        UserEntity(
            id: try #require(UserHandle(bytes: Array("handle of \(name)".utf8))),
            name: "\(name)@example.com",
            displayName: "The \(name)"
        )
    }

    /// Adds a passkey to the store.
    @discardableResult
    func addPasskey(
        _ name: String,
        rp: String = "example.com",
        id: UInt8? = nil,
        eligible: Bool = true,
        discoverable: Bool = true,
        hidden: Bool = false,
        kind: SignedDataKind? = nil,
        secret: PRFSecret? = nil
    ) throws -> Passkey {
        let bytes = id.map { [UInt8](repeating: $0, count: 32) } ?? Array(SHA256.hash(data: Array("\(name)\(rp)".utf8)))
        let passkey = Passkey(
            id: try #require(CredentialID(bytes: bytes)),
            relyingParty: try #require(RelyingPartyID(rp, accepting: Set(RelyingPartyID.Kind.allCases))),
            user: try Self.account(name),
            privateKey: P256.Signing.PrivateKey(),
            isBackupEligible: eligible,
            isDiscoverable: discoverable,
            isHidden: hidden,
            signedDataKind: kind,
            prfSecret: secret
        )
        store.put(passkey)
        return passkey
    }

    func creation(
        algorithms: [COSEAlgorithm] = [.edDSA, .es256, .rs256],
        exclude: [CredentialDescriptor] = [],
        user: UserEntity? = nil
    ) throws -> MakeCredentialRequest {
        MakeCredentialRequest(
            clientDataHash: hash,
            relyingParty: RelyingPartyEntity(id: relyingParty, name: "Not To Be Shown"),
            user: try user ?? Self.account("ada"),
            algorithms: algorithms,
            excludeList: exclude,
            extensions: ["hmac-secret": true],
            residentKey: true,
            userVerification: true
        )
    }

    func signIn(
        allow: [CredentialDescriptor] = [],
        extensions: CBORMap? = nil,
        userPresence: Bool = true
    ) -> GetAssertionRequest {
        GetAssertionRequest(
            relyingPartyID: relyingParty,
            clientDataHash: hash,
            allowList: allow,
            extensions: extensions,
            userPresence: userPresence,
            userVerification: true
        )
    }

    /// Sends a creation request, modified by `change`.
    func create(
        algorithms: [COSEAlgorithm] = [.es256],
        exclude: [CredentialDescriptor] = [],
        user: UserEntity? = nil,
        _ change: (inout MakeCredentialRequest) -> Void = { _ in }
    ) async throws -> CTAPResponse {
        var request = try creation(algorithms: algorithms, exclude: exclude, user: user)
        change(&request)
        return await authenticator.answer(.makeCredential(request))
    }

    func sign(
        allow: [CredentialDescriptor] = [],
        extensions: CBORMap? = nil,
        userPresence: Bool = true
    ) async -> CTAPResponse {
        let request = signIn(allow: allow, extensions: extensions, userPresence: userPresence)
        return await authenticator.answer(.getAssertion(request))
    }

    /// Checks the status and failure of a request, and that it changed nothing.
    func expectFailure(
        _ response: CTAPResponse,
        _ status: UInt8,
        _ failure: AuthenticatorFailure,
        stored: Int = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        #expect(response.encoded == [status], sourceLocation: sourceLocation)
        await authenticator.sessionEnded()
        #expect(await authenticator.lastFailure == failure, sourceLocation: sourceLocation)
        #expect(await authenticator.fulfilledCount == 0, sourceLocation: sourceLocation)
        #expect(store.passkeys.count == stored, sourceLocation: sourceLocation)
        #expect(log.openStores == 0, "an unlocked store is locked again", sourceLocation: sourceLocation)
    }

    /// Verifies the signature over authenticator data and client data hash.
    func verifies(_ response: GetAssertionResponse, by passkey: Passkey) throws -> Bool {
        let signature = try P256.Signing.ECDSASignature(derRepresentation: response.signature)
        let signed = response.authenticatorData.encoded + hash.bytes
        return passkey.privateKey.publicKey.isValidSignature(signature, for: signed)
    }
}

extension Passkey {
    var descriptor: CredentialDescriptor { CredentialDescriptor(id: id) }
}
