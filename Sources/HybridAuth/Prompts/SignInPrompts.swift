// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridPinentry
internal import HybridPrimitives
internal import HybridThreads
internal import HybridVault

/// The circumstances of a request, which its prompts show.
struct SignInContext: Sendable {
    /// The transport that the other device uses.
    let transport: ClientTransport
    /// Age of the code in seconds, if it has a timestamp.
    let age: UInt64?
    /// True if the radio is virtual and therefore does not prove proximity.
    let virtualRadio: Bool
    /// The user's name for the linked computer that asks; `nil` if its code was scanned.
    var computer: String?
    /// The fingerprint that may replace the PIN; `nil` if the user did not allow it.
    var fingerprint: FingerprintPrompt?
    /// The code of a link that was offered in this session.
    let linkCode = Locked<LinkCode?>(nil)
    /// The vault, once a request has unlocked it.
    let unlocked = Locked<UnlockedVault?>(nil)

    init(transport: ClientTransport, age: UInt64?, virtualRadio: Bool, computer: String? = nil) {
        (self.transport, self.age, self.virtualRadio, self.computer) = (transport, age, virtualRadio, computer)
    }

    /// The code of a link that was offered in this session; `nil` if there is none.
    var offeredLink: LinkCode? { linkCode.withLock { $0 } }

    /// Returns when the accounts of a relying party were last used, in seconds since 1970; empty if that can't be read,
    /// because it only informs the user.
    func lastUses(at relyingParty: RelyingPartyID) async -> [UserHandle: UInt64] {
        guard let vault = unlocked.withLock({ $0 }), let history = try? await vault.uses().uses,
            let passkeys = try? await vault.summaries()
        else { return [:] }
        let uses = PasskeyHistory(history)
        let times = passkeys.filter { $0.relyingParty == relyingParty }
            .compactMap { passkey in passkey.user.flatMap { user in uses.lastUse(of: passkey).map { (user.id, $0) } } }
        return Dictionary(times, uniquingKeysWith: max)
    }
}

/// The user of this device during a request, who is asked by a program or through pinentry.
struct SignInPrompts: UserInteraction {
    let questioner: Questioner
    var context: SignInContext

    init(_ questioner: Questioner, _ context: SignInContext) {
        (self.questioner, self.context) = (questioner, context)
    }

    private func user() async throws(UserRefusal) -> any UserInteraction {
        if let program = await questioner.program { return AskUser(program: program, context: context) }
        do throws(PinentryError) {
            return PinentryUser(pinentry: try questioner.pinentry(), context: context)
        } catch {
            throw .unavailable(error.sentence)
        }
    }

    /// Asks for the PIN of a new vault.
    func askNewPIN(forVaultAt path: String) async throws -> PIN {
        if let program = await questioner.program {
            return try await AskUser(program: program, context: context).askNewPIN(forVaultAt: path)
        }
        let user = PinentryUser(pinentry: try questioner.pinentry(), context: context)
        return try await user.askNewPIN(forVaultAt: path)
    }

    func verify(
        for operation: RequestedOperation,
        problem: PINProblem?
    ) async throws(UserRefusal) -> UserVerification {
        try await user().verify(for: operation, problem: problem)
    }

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        try await user().askPIN(for: operation, problem: problem)
    }

    func confirmCreation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        try await user().confirmCreation(of: account, for: operation, replacing: replaced)
    }

    func chooseAccount(
        _ accounts: [UserEntity],
        for operation: RequestedOperation
    ) async throws(UserRefusal) -> Int {
        try await user().chooseAccount(accounts, for: operation)
    }

    func show(_ notice: Notice, for operation: RequestedOperation) async throws(UserRefusal) {
        try await user().show(notice, for: operation)
    }
}
