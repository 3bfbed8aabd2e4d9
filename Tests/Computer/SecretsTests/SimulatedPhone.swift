// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAge
import HybridCTAP
import HybridCommandSupport
import HybridKeyService
import HybridPrimitives
import HybridProgram
import HybridSecrets
import HybridThreads
import TestSupport
import Testing

/// A phone with passkeys and `prf`, which answers the requests of a ``SecretPhone`` without a ceremony.
final class SimulatedPhone: Sendable {
    /// The ways in which phones and their password apps differ.
    struct Behaviour: Sendable {
        /// The value of `enabled` at creation; `nil` for no output at all.
        var isEnabled: Bool? = true
        var returnsResultsAtCreation = true
        var returnsSecondResult = true
        var verifiesUser = true
        /// True if results at creation differ from those at sign-in.
        var changesResults = false
        /// The failure of each sign-in.
        var signInFailure: CommandFailure?
    }

    private struct Passkey {
        let id: CredentialID
        let relyingPartyID: RelyingPartyID
        let secret: SymmetricKey
    }

    private let current: Locked<Behaviour>
    private let passkeys = Locked<[Passkey]>([])
    private let seen = Locked<[SecretPhone.Request]>([])

    init(_ behaviour: Behaviour = Behaviour()) { current = Locked(behaviour) }

    /// The behaviour from now on.
    var behaviour: Behaviour {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// The requests so far.
    var requests: [SecretPhone.Request] { seen.withLock { $0 } }

    @Sendable func perform(_ request: SecretPhone.Request) async throws -> CeremonyOutcome {
        seen.withLock { $0.append(request) }
        switch request.command {
        case .create(let creation): return .answered(CeremonyAnswer(response: try create(creation), phone: nil))
        case .sign(let sign):
            if let failure = behaviour.signInFailure { return .failed(failure) }
            guard let response = try self.sign(sign) else {
                let failure = CommandFailure("the phone has no passkey", code: "no-passkey", status: .notPermitted)
                return .refused(.noCredentials, failure)
            }
            return .answered(CeremonyAnswer(response: response, phone: nil))
        }
    }

    private var flags: AuthenticatorData.Flags {
        behaviour.verifiesUser ? [.userPresent, .userVerified] : [.userPresent]
    }

    private func create(_ request: MakeCredentialRequest) throws -> [UInt8] {
        let id = try #require(CredentialID(bytes: [UInt8].random(16)))
        let secret = SymmetricKey(size: .bits256)
        let passkey = Passkey(id: id, relyingPartyID: request.relyingParty.id, secret: secret)
        passkeys.withLock { $0.append(passkey) }
        var output = PRFOutput(isEnabled: behaviour.isEnabled)
        if behaviour.returnsResultsAtCreation {
            let other = behaviour.changesResults ? SymmetricKey(size: .bits256) : secret
            let results = try results(request.prf?.salts, other)
            (output.first, output.second) = (results.first, results.second)
        }
        let hasOutput = behaviour.isEnabled != nil || behaviour.returnsResultsAtCreation
        let data = AuthenticatorData(
            relyingPartyIDHash: request.relyingParty.id.hash,
            flags: flags,
            signatureCount: 0,
            attestedCredential: AttestedCredential(
                aaguid: .zero,
                id: id,
                publicKey: COSEKey(P256.Signing.PrivateKey().publicKey)
            )
        )
        var response = MakeCredentialResponse(authenticatorData: data, selfAttestation: [1], algorithm: .es256)
        response.unsignedExtensionOutputs = hasOutput ? output.unsignedExtensionOutputs : nil
        return CTAPResponse.success(response.encoded).encoded
    }

    private func sign(_ request: GetAssertionRequest) throws -> [UInt8]? {
        let known = passkeys.withLock { $0 }
        let passkey = known.first { passkey in
            request.relyingPartyID == passkey.relyingPartyID && request.allowList.contains { $0.id == passkey.id }
        }
        guard let passkey else { return nil }
        let assertion = GetAssertionResponse(
            credential: CredentialDescriptor(id: passkey.id),
            authenticatorData: AuthenticatorData(
                relyingPartyIDHash: request.relyingPartyID.hash,
                flags: flags,
                signatureCount: 0
            ),
            signature: [1],
            unsignedExtensionOutputs: try results(request.prf?.salts, passkey.secret).unsignedExtensionOutputs
        )
        return CTAPResponse.success(assertion.encoded).encoded
    }

    private func results(_ salts: PRFSalts?, _ secret: SymmetricKey) throws -> PRFOutput {
        func result(_ salt: PRFSalt) -> PRFResult {
            PRFResult(HMAC<SHA256>.authenticationCode(for: salt.bytes, using: secret))
        }
        let salts = try #require(salts)
        return PRFOutput(
            first: result(salts.first),
            second: behaviour.returnsSecondResult ? salts.second.map(result) : nil
        )
    }
}

/// A store, a journal and a phone in a folder.
struct SecretsFixture {
    let folder: TestFolder
    let journal: Journal
    let store: SecretStore

    init(in folder: TestFolder) throws {
        self.folder = folder
        journal = Journal(in: try StateFolder(path: folder.path + "/state"))
        store = SecretStore(in: try StateFolder(path: folder.path + "/secrets"))
    }

    func phone(_ simulated: SimulatedPhone) -> SecretPhone {
        SecretPhone(
            seconds: 60,
            journal: journal,
            door: .secret,
            report: { Issue.record("\($0)") },
            perform: simulated.perform
        )
    }

    static func name(_ text: String = "backup") throws -> SecretName { try #require(SecretName(text)) }

    static func site() throws -> RelyingPartyID { try #require(RelyingPartyID("secret-abcdefghijklmnop.invalid")) }

    /// Creates a key with a phone.
    func seal(
        _ simulated: SimulatedPhone,
        _ key: AgeSecretKey = .random(),
        others: [AgeRecipient] = []
    ) async throws -> SealedKey {
        try await SealedKeyCreation(phone(simulated)).seal(
            key,
            name: try Self.name(),
            relyingPartyID: try Self.site(),
            others: others
        )
    }
}
