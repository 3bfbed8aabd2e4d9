// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// A store of passkeys.
///
/// It is locked until the user is verified, and again when a request ends.
///
/// Verifying the user and unlocking the store are a single step: the PIN that verifies the user also yields the key.
/// Therefore no key is ever stored unwrapped.
public protocol CredentialStore: Sendable {
    /// Unlocks the store if the PIN is correct.
    ///
    /// - Throws: ``UnlockFailure`` if the PIN is wrong or was not tried.
    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore

    /// Unlocks the store with its key, which another verification of the user has released.
    ///
    /// - Throws: ``UnlockFailure``; ``UnlockFailure/keyReplaced`` if only the PIN opens the store now.
    func unlock(with key: StoreKey) async throws(UnlockFailure) -> any UnlockedCredentialStore
}

extension CredentialStore {
    /// Requires the PIN: a store that releases its key to no service opens with the PIN alone.
    public func unlock(with key: StoreKey) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        throw .keyReplaced
    }
}

/// A store that a verified user has unlocked for one request.
///
/// It stays unlocked until the outcome of the request is in the history.
public protocol UnlockedCredentialStore: Sendable {
    /// Returns all passkeys of a relying party in the order in which they are offered.
    ///
    /// Those created here come first, the newest before the others, then imported ones.
    func passkeys(for relyingParty: RelyingPartyID) async throws(StoreFailure) -> [Passkey]

    /// Adds a passkey, which is durable when this method returns, and after
    /// ``StoreFailure/Kind/additionNotRecorded``.
    func add(_ passkey: Passkey) async throws(StoreFailure)

    /// Deletes passkeys of one relying party permanently; those that no longer exist are skipped.
    ///
    /// A passkey with the same ID but another relying party is kept.
    func delete(_ credentials: [CredentialID], of relyingParty: RelyingPartyID) async throws(StoreFailure)

    /// Adds a request durably to the store's history, if it has one.
    func record(_ request: UsageEntry) async throws(StoreFailure)

    /// True if the passkeys also exist in a second place (backup state flag, BS).
    var isBackedUp: Bool { get }

    /// Wipes the key; every later call throws ``StoreFailure/locked``.
    func lock() async
}

/// A failure to unlock a store with a PIN.
public struct UnlockFailure: Error, Equatable, Sendable {
    /// Number of attempts left before a wait; `nil` if the PIN was not tried.
    public private(set) var attemptsLeft: Int?
    /// Seconds until a PIN may be tried again; `nil` if the store imposes no wait.
    public private(set) var waitSeconds: Int?
    /// True if the key of another verification does not open the store, but the PIN may.
    public private(set) var needsPIN = false
    /// Cause and remedy for the user.
    public let sentence: String
    /// The store's own error, if it has one; `==` ignores it.
    public private(set) var underlying: (any Error)?

    /// A wrong PIN.
    ///
    /// - Parameters:
    ///   - attemptsLeft: Number of attempts left before a wait.
    ///   - waitSeconds: Seconds of the wait, if no attempt is left.
    public static func wrongPIN(attemptsLeft: Int, waitSeconds: Int? = nil) -> UnlockFailure {
        UnlockFailure(attemptsLeft: attemptsLeft, waitSeconds: waitSeconds, sentence: "the PIN is wrong")
    }

    /// A lockout after too many wrong PINs; no PIN is tried during the wait.
    public static func lockedOut(seconds: Int) -> UnlockFailure {
        UnlockFailure(waitSeconds: seconds, sentence: "the PIN was wrong too often; try again in \(seconds) seconds")
    }

    /// A released key that does not belong to the store, or no longer does; the PIN is needed.
    public static let keyReplaced = UnlockFailure(needsPIN: true, sentence: "the key has changed; type the PIN")

    /// A store that cannot be used.
    public static func unusable(_ sentence: String, underlying: (any Error)? = nil) -> UnlockFailure {
        UnlockFailure(sentence: sentence, underlying: underlying)
    }

    /// Compares everything but ``underlying``.
    public static func == (left: UnlockFailure, right: UnlockFailure) -> Bool {
        left.attemptsLeft == right.attemptsLeft && left.waitSeconds == right.waitSeconds
            && left.needsPIN == right.needsPIN
            && left.sentence == right.sentence
    }
}

/// A failure of an unlocked store.
public struct StoreFailure: Error, Equatable, Sendable {
    /// Kinds of failure; later versions may add more.
    public struct Kind: Hashable, Sendable {
        private let name: String

        /// The store is locked.
        public static let locked = Kind(name: "locked")
        /// A record cannot be read.
        public static let damaged = Kind(name: "damaged")
        /// A record cannot be written; nothing was changed.
        public static let notWritten = Kind(name: "not-written")
        /// A passkey is durable, but this device could not record that it exists.
        public static let additionNotRecorded = Kind(name: "addition-not-recorded")
        /// A passkey is deleted, but this device could not record the deletion.
        public static let deletionNotRecorded = Kind(name: "deletion-not-recorded")
    }

    /// Kind of the failure.
    public let kind: Kind
    /// Cause and remedy for the user.
    public let sentence: String
    /// The store's own error, if it has one; `==` ignores it.
    public let underlying: (any Error)?

    /// A call after the store was locked.
    public static let locked = StoreFailure(kind: .locked, sentence: "the vault was locked too early", underlying: nil)

    /// A record that cannot be read.
    public static func damaged(_ sentence: String, underlying: (any Error)? = nil) -> StoreFailure {
        StoreFailure(kind: .damaged, sentence: sentence, underlying: underlying)
    }

    /// A record that cannot be written, for example to a full disk; nothing was changed.
    public static func notWritten(_ sentence: String, underlying: (any Error)? = nil) -> StoreFailure {
        StoreFailure(kind: .notWritten, sentence: sentence, underlying: underlying)
    }

    /// A passkey that is durable but could not be recorded on this device.
    public static func additionNotRecorded(_ sentence: String, underlying: (any Error)? = nil) -> StoreFailure {
        StoreFailure(kind: .additionNotRecorded, sentence: sentence, underlying: underlying)
    }

    /// A deletion that is durable but could not be recorded on this device.
    public static func deletionNotRecorded(_ sentence: String, underlying: (any Error)? = nil) -> StoreFailure {
        StoreFailure(kind: .deletionNotRecorded, sentence: sentence, underlying: underlying)
    }

    /// Compares everything but ``underlying``.
    public static func == (left: StoreFailure, right: StoreFailure) -> Bool {
        left.kind == right.kind && left.sentence == right.sentence
    }
}

/// An entry of the store's history: one request and its outcome.
///
/// There is an entry for each request that unlocked the store. A request that ended earlier, for example after a wrong
/// PIN, has no entry, because a locked store cannot be written.
public struct UsageEntry: Equatable, Sendable {
    /// Outcomes of a request.
    public enum Outcome: Equatable, Sendable {
        /// The request was fulfilled and the response was sent.
        case done
        /// The user declined.
        case declined
        /// The user did not answer in time.
        case unanswered
        /// There was no passkey to sign in with.
        case noPasskey
        /// The site excluded a passkey that exists here.
        case alreadyRegistered
        /// The client disconnected before it could receive the response.
        case clientGone
        /// Any other failure.
        case failed
    }

    /// The operation and its relying party.
    public let operation: RequestedOperation
    /// The outcome.
    public let outcome: Outcome
    /// The passkey that was created or used, even if the client never received the response.
    public let credential: CredentialID?

    /// Creates an entry.
    public init(_ operation: RequestedOperation, _ outcome: Outcome, credential: CredentialID? = nil) {
        self.operation = operation
        self.outcome = outcome
        self.credential = credential
    }
}
