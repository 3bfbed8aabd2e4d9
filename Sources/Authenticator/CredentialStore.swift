// SPDX-License-Identifier: Apache-2.0

public import CTAP

/// Where passkeys are kept: locked until the user is verified, and again when a request ends.
///
/// Verification and unlocking are one act: whoever verifies the user (a PIN today) must bring the key, so no
/// key is ever stored unwrapped.
public protocol CredentialStore: Sendable {
    /// Tries one PIN.
    ///
    /// - Throws: ``UnlockFailure``.
    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore
}

/// A store that a verified user has opened, for one request.
///
/// It is open until the history knows what became of the request.
public protocol UnlockedCredentialStore: Sendable {
    /// Every passkey of a relying party, the last created first.
    func passkeys(for relyingParty: RelyingPartyID) async throws(StoreFailure) -> [Passkey]

    /// Keeps a new passkey beside all others; it is durable when this returns.
    func add(_ passkey: Passkey) async throws(StoreFailure)

    /// Deletes passkeys of one relying party for ever; those that are gone already are passed over.
    ///
    /// Another relying party may have a passkey with the same ID, which stays.
    func delete(_ credentials: [CredentialID], of relyingParty: RelyingPartyID) async throws(StoreFailure)

    /// Adds what became of a request to the history, if the store keeps one; it is durable when this returns.
    func note(_ request: ServedRequest) async throws(StoreFailure)

    /// Whether the passkeys exist in a second place now (flag BS).
    var isBackedUp: Bool { get }

    /// Wipes the key; every later call throws ``StoreFailure/locked``.
    func lock() async
}

/// Why a PIN did not open the store.
public enum UnlockFailure: Error, Equatable, Sendable {
    /// The PIN is wrong; `attemptsLeft` more may be tried before a wait.
    case wrongPIN(attemptsLeft: Int)
    /// Too many wrong PINs; nothing is tried for that many seconds.
    case lockedOut(seconds: Int)
    /// The store can't be used; the sentence says what is wrong and what to do.
    case unusable(String)
}

/// Why an opened store could not do its work.
public enum StoreFailure: Error, Equatable, Sendable {
    /// It was locked again.
    case locked
    /// A record can't be read; the sentence says which and what to do.
    case damaged(String)
    /// The disk is full or not writable; nothing was changed.
    case notWritten(String)
    /// A passkey is deleted, but this device could not note that; the sentence says so and what to do.
    case deletionNotNoted(String)
}
