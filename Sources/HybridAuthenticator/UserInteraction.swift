// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// Prompts for the user: pinentry in `hybrid-auth`, a script in the lab's phone.
///
/// ``Authenticator`` fixes the order: first the PIN, in a prompt that names the operation and the relying party, then,
/// with the store unlocked, the account. An implementation shows the relying party's ID by itself, and makes the other
/// texts, which come from the request, safe to display.
public protocol UserInteraction: Sendable {
    /// Asks for the PIN; `problem` is the reason for asking again.
    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN

    /// Asks for consent to create a passkey.
    ///
    /// - Parameters:
    ///   - account: The account of the new passkey.
    ///   - relyingParty: The relying party.
    ///   - replaced: Accounts, with their names in the store, of the passkeys that are then deleted; usually none.
    func confirmCreation(
        of account: UserEntity,
        for relyingParty: RelyingPartyID,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal)

    /// Asks for the account to sign in with, or for consent if there is only one.
    ///
    /// - Returns: Index in `accounts`.
    func chooseAccount(_ accounts: [UserEntity], for relyingParty: RelyingPartyID) async throws(UserRefusal) -> Int

    /// Shows the user a fact before the client learns it.
    func show(_ notice: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal)
}

/// An operation that a client requests for a relying party.
public enum RequestedOperation: Equatable, Sendable {
    /// Creation of a passkey.
    case create(RelyingPartyID)
    /// A signature.
    case signIn(RelyingPartyID)
}

/// The reason why the user is asked for the PIN again.
public enum PINProblem: Equatable, Sendable {
    /// The PIN was wrong; this many attempts are left before a wait.
    case wrong(attemptsLeft: Int)
}

/// A fact that the user learns before the client does.
public enum Notice: Equatable, Sendable {
    /// No passkey for this relying party, or none of those requested.
    case noPasskey
    /// A passkey that the site excludes exists here, for this account or another one.
    case alreadyRegistered
}

/// The reason why the user did not consent.
public struct UserRefusal: Error, Hashable, Sendable {
    /// Cause and remedy for the user.
    public let sentence: String

    /// The user declined or closed the prompt.
    public static let declined = UserRefusal(sentence: "you declined")
    /// The user did not answer in time.
    public static let timedOut = UserRefusal(sentence: "the question was not answered in time")
    /// The user cannot be asked.
    public static func unavailable(_ sentence: String) -> UserRefusal { UserRefusal(sentence: sentence) }
}
