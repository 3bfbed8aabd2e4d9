// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP

/// A person played by the lab, who does what the script says and tells that they did.
///
/// It exists in `hybrid-lab` alone; `hybrid-auth` has no way to answer for its user.
struct ScriptedUser: UserInteraction {
    let pin: PIN
    var script = PhoneScript()
    /// Told of every answer given.
    let narrate: @Sendable (String) -> Void

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        if problem == nil { try await hesitate() }
        let question =
            switch operation {
            case .create(let site): "asked for the PIN to create a passkey for \(site)"
            case .signIn(let site): "asked for the PIN to sign in to \(site)"
            }
        guard script.person != .wrongPIN else {
            narrate("\(question); the script types a wrong one")
            return Self.wrongPIN ?? pin
        }
        narrate("\(question); the script types it")
        return pin
    }

    func confirmCreation(
        of account: UserEntity,
        for relyingParty: RelyingPartyID,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        try answer("asked whether to save a passkey for this account")
        narrate("asked whether to save a passkey for this account; the script says yes")
    }

    func chooseAccount(
        _ accounts: [UserEntity],
        for relyingParty: RelyingPartyID
    ) async throws(UserRefusal) -> Int {
        let question = "asked which of \(accounts.count) account(s) to use"
        try answer(question)
        guard accounts.count >= script.pick else {
            narrate("\(question); the script wants number \(script.pick), so it says no")
            throw .declined
        }
        narrate(
            script.pick == 1
                ? "\(question); the script takes the first" : "\(question); the script takes number \(script.pick)"
        )
        return script.pick - 1
    }

    func tell(_ notice: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal) {
        narrate("told that \(notice == .noPasskey ? "there is no passkey" : "a passkey exists already")")
    }

    private func answer(_ question: String) throws(UserRefusal) {
        guard script.person == .deny else { return }
        narrate("\(question); the script says no")
        throw .declined
    }

    private func hesitate() async throws(UserRefusal) {
        guard script.wait > .zero else { return }
        do { try await Task.sleep(for: script.wait) } catch { throw .declined }
    }

    /// One that no passkeys of the lab open with.
    private static let wrongPIN = "wrong".withCString { PIN(utf8: UnsafeRawBufferPointer(start: $0, count: 5)) }
}

extension PIN {
    /// The one that opens the lab's passkeys.
    static let lab: PIN = {
        guard let pin = "1234".withCString({ PIN(utf8: UnsafeRawBufferPointer(start: $0, count: 4)) }) else {
            preconditionFailure("four digits are a PIN")
        }
        return pin
    }()
}
