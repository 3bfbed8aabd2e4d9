// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// How the person is asked; pinentry in `hybrid-auth`, a script in the lab's phone.
///
/// The order is fixed by ``Authenticator``: first the PIN, which names what is asked for and by whom, then, with the
/// store open, the account. Whoever implements this shows the relying party's ID alone and makes the other
/// texts, which come from the request, safe to show.
public protocol UserInteraction: Sendable {
    /// Asks for the PIN; `problem` says why it is asked for again.
    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN

    /// Asks whether a passkey for this account shall be created.
    ///
    /// `replaced` are the accounts, with the names they have here, of the passkeys that are deleted then; mostly none.
    func confirmCreation(
        of account: UserEntity,
        for relyingParty: RelyingPartyID,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal)

    /// Asks which account to sign in with; with one account, whether. Returns its index.
    func chooseAccount(_ accounts: [UserEntity], for relyingParty: RelyingPartyID) async throws(UserRefusal) -> Int

    /// Tells the person something that the other side learns only afterwards.
    func tell(_ notice: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal)
}

/// What is asked for, and for whom.
public enum RequestedOperation: Equatable, Sendable {
    /// A new passkey.
    case create(RelyingPartyID)
    /// A signature.
    case signIn(RelyingPartyID)
}

/// Why a PIN is asked for again.
public enum PINProblem: Equatable, Sendable {
    /// It was wrong; this many attempts are left before a wait.
    case wrong(attemptsLeft: Int)
}

/// What a person is told before the other side is.
public enum Notice: Equatable, Sendable {
    /// There is no passkey for this relying party, or none of those asked for.
    case noPasskey
    /// A passkey that the site excludes is here, of this account or another.
    case alreadyRegistered
}

/// Why a person's answer is not a yes.
public enum UserRefusal: Error, Equatable, Sendable {
    /// The person said no or closed the dialog.
    case declined
    /// Nobody answered in time.
    case timedOut
    /// The person can't be asked; the sentence says why and what to do.
    case unavailable(String)
}
