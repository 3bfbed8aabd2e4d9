// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// An interface for prompting the user: with pinentry in `hybrid-auth`, with a script in the lab's phone.
///
/// ``Authenticator`` determines the order. The PIN comes first, in a prompt that names the operation and the relying
/// party. The account comes next, after the store was unlocked. An implementation shows the relying party ID apart from
/// other text. It sanitizes all other texts that come from the request.
public protocol UserInteraction: Sendable {
    /// Asks for the PIN; `problem` is the reason for asking again, if any.
    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN

    /// Verifies the user, with the PIN or in another way that releases the store's key; `problem` is the reason for
    /// asking again, if any.
    func verify(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> UserVerification

    /// Asks for consent to create a passkey.
    ///
    /// - Parameters:
    ///   - account: The account of the new passkey.
    ///   - operation: The operation that the client requests.
    ///   - replaced: Accounts, with their stored names, of the passkeys that the new one replaces; usually empty.
    func confirmCreation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal)

    /// Asks the user to choose the account to sign in or to sign with, or to consent if there is only one.
    ///
    /// - Parameters:
    ///   - accounts: The accounts.
    ///   - operation: The operation that the client requests. The prompt shows the data to be signed, if it is stated.
    /// - Returns: The index of the account in `accounts`.
    func chooseAccount(_ accounts: [UserEntity], for operation: RequestedOperation) async throws(UserRefusal) -> Int

    /// Shows the user a notice before the client learns of it.
    func show(_ notice: Notice, for operation: RequestedOperation) async throws(UserRefusal)
}

extension UserInteraction {
    /// Asks for the PIN.
    public func verify(
        for operation: RequestedOperation,
        problem: PINProblem?
    ) async throws(UserRefusal) -> UserVerification {
        .pin(try await askPIN(for: operation, problem: problem))
    }
}

/// The reason why the user is asked for the PIN again.
public enum PINProblem: Equatable, Sendable {
    /// Another verification released a key that does not open the store.
    case keyReplaced
    /// The PIN was wrong; this many attempts are left before a wait.
    case wrong(attemptsLeft: Int)
}

/// A fact that the user learns before the client does.
public enum Notice: Equatable, Sendable {
    /// There is no passkey for this relying party, or none that the request allows.
    case noPasskey
    /// There are only SSH keys, which do not sign data that the client does not state.
    case dataNotStated
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
    /// No prompt can be shown to the user.
    public static func unavailable(_ sentence: String) -> UserRefusal { UserRefusal(sentence: sentence) }
}
