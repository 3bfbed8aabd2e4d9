// SPDX-License-Identifier: Apache-2.0

internal import Authenticator
internal import CTAP

/// A person played by the lab: types the right PIN and says yes, and says that it did.
///
/// It exists in `hybrid-lab` alone; `hybrid-auth` has no way to answer for its user.
struct ScriptedUser: UserInteraction {
    let pin: PIN
    /// Told of every answer given.
    let narrate: @Sendable (String) -> Void

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        switch operation {
        case .create(let site): narrate("asked for the PIN to create a passkey for \(site); the script types it")
        case .signIn(let site): narrate("asked for the PIN to sign in to \(site); the script types it")
        }
        return pin
    }

    func confirmCreation(
        of account: UserEntity,
        for relyingParty: RelyingPartyID,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        narrate("asked whether to save a passkey for this account; the script says yes")
    }

    func chooseAccount(
        _ accounts: [UserEntity],
        for relyingParty: RelyingPartyID
    ) async throws(UserRefusal) -> Int {
        narrate("asked which of \(accounts.count) account(s) to use; the script takes the first")
        return 0
    }

    func tell(_ notice: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal) {
        narrate("told that \(notice == .noPasskey ? "there is no passkey" : "a passkey exists already")")
    }
}
